// SPDX-License-Identifier: Apache-2.0
import java.security.MessageDigest;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.tensorflow.hadoop.io.TFRecordFileInputFormat;

/** Reads each directory with upstream's input format. Prints for each file: name, number of records, SHA-256 of all. */
public class ReadRecords {
  public static void main(String[] directories) throws Exception {
    for (String directory : directories) {
      Job job = Job.getInstance(new Configuration());
      FileInputFormat.addInputPath(job, new Path(directory));
      TFRecordFileInputFormat format = new TFRecordFileInputFormat();
      for (InputSplit split : (List<InputSplit>) format.getSplits(job)) {
        TaskAttemptContextImpl context = new TaskAttemptContextImpl(job.getConfiguration(), new TaskAttemptID());
        var reader = format.createRecordReader(split, context);
        reader.initialize(split, context);
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        long count = 0;
        for (; reader.nextKeyValue(); ++count) {
          BytesWritable record = (BytesWritable) reader.getCurrentKey();
          digest.update(record.getBytes(), 0, record.getLength());
        }
        StringBuilder hex = new StringBuilder();
        for (byte one : digest.digest()) hex.append(String.format("%02x", one));
        System.out.println(((FileSplit) split).getPath().toUri().getPath() + " " + count + " " + hex);
      }
    }
  }
}
