// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.fs.FSDataInputStream;
import org.tensorflow.hadoop.util.TFRecordReader;

/** Upstream's reader of TFRecords for the old API, which Pipes and Streaming use; upstream has only the new one. */
public class RecordInputV1 extends FileInputFormat<BytesWritable, BytesWritable> {
  @Override
  protected boolean isSplitable(FileSystem files, Path path) {
    return false;
  }

  @Override
  public RecordReader<BytesWritable, BytesWritable> getRecordReader(InputSplit split, JobConf job, Reporter reporter)
      throws IOException {
    final FileSplit part = (FileSplit) split;
    final FSDataInputStream in = part.getPath().getFileSystem(job).open(part.getPath());
    final TFRecordReader reader = new TFRecordReader(in, true);
    return new RecordReader<BytesWritable, BytesWritable>() {
      public boolean next(BytesWritable key, BytesWritable value) throws IOException {
        final byte[] record = reader.read();
        if (record == null) return false;
        key.set(record, 0, record.length);
        value.setSize(0);
        return true;
      }
      public BytesWritable createKey() { return new BytesWritable(); }
      public BytesWritable createValue() { return new BytesWritable(); }
      public long getPos() throws IOException { return in.getPos(); }
      public float getProgress() throws IOException {
        return part.getLength() == 0 ? 1 : (float) in.getPos() / part.getLength();
      }
      public void close() throws IOException { in.close(); }
    };
  }
}
