// SPDX-License-Identifier: Apache-2.0
// usage: CheckService FILE
// Reads and checks a service file with YARN's own code, as YARN's REST API and `yarn app -launch` do. Prints one line
// for each component: its name, number of containers, restart policy and DISTRIB_PS_HOSTS. Fails if YARN refuses the
// file.
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.yarn.service.api.records.Service;
import org.apache.hadoop.yarn.service.conf.YarnServiceConf;
import org.apache.hadoop.yarn.service.utils.ServiceApiUtil;
import org.apache.hadoop.yarn.service.utils.SliderFileSystem;

public class CheckService {
  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    Service service = ServiceApiUtil.jsonSerDeser.fromJson(Files.readString(Path.of(args[0])));
    ServiceApiUtil.validateAndResolveService(service, new SliderFileSystem(FileSystem.getLocal(conf), conf), conf);
    for (var component : service.getComponents())
      System.out.println(component.getName() + " " + component.getNumberOfContainers() + " " + component.getRestartPolicy()
          + " " + component.getConfiguration().getEnv("DISTRIB_PS_HOSTS"));
  }
}
