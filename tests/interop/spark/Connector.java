// SPDX-License-Identifier: Apache-2.0
// Answers questions of the groups spark_infer_schema, spark_encode and spark_decode with the connector's own classes.
// Each question and each answer is a line of JSON, in the form that tests/conformance/run.sh uses.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.function.Function;
import org.apache.spark.ml.linalg.*;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.GenericRowWithSchema;
import org.apache.spark.sql.types.*;
import org.tensorflow.example.*;
import org.tensorflow.spark.datasources.tfrecords.TensorFlowInferSchema$;
import org.tensorflow.spark.datasources.tfrecords.serde.*;
import org.tensorflow.spark.shaded.com.google.protobuf.ByteString;
import scala.collection.JavaConverters;

public class Connector {
  static final ObjectMapper json = new ObjectMapper();

  static DataType type(String text) {
    if (text.startsWith("Array<")) return DataTypes.createArrayType(type(text.substring(6, text.length() - 1)));
    switch (text) {
      case "Boolean": return DataTypes.BooleanType;
      case "Integer": return DataTypes.IntegerType;
      case "Long": return DataTypes.LongType;
      case "Float": return DataTypes.FloatType;
      case "Double": return DataTypes.DoubleType;
      case "Decimal": return DataTypes.createDecimalType();
      case "String": return DataTypes.StringType;
      case "Binary": return DataTypes.BinaryType;
      case "Vector": return SQLDataTypes.VectorType();
      default: return DataTypes.TimestampType;
    }
  }

  static String text(Object type) {
    if (type == null) return "String";
    if (type instanceof ArrayType) {
      DataType inner = ((ArrayType) type).elementType();
      return "Array<" + (inner == null ? "Null" : text(inner)) + ">";
    }
    return type.toString().replace("Type", "");
  }

  static byte[] bytes(String hex) {
    byte[] bytes = new byte[hex.length() / 2];
    for (int i = 0; i < bytes.length; ++i) bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
    return bytes;
  }

  static String hex(byte[] bytes) {
    StringBuilder text = new StringBuilder();
    for (byte b : bytes) text.append(String.format("%02x", b));
    return text.toString();
  }

  static double number(JsonNode value) {
    return value.isTextual() ? Double.parseDouble(value.asText()) : value.asDouble();
  }

  static Object value(JsonNode value, String type) {
    if (value == null || value.isNull()) return null;
    if (type.startsWith("Array<")) {
      List<Object> list = new ArrayList<>();
      for (JsonNode one : value) list.add(value(one, type.substring(6, type.length() - 1)));
      return JavaConverters.asScalaBufferConverter(list).asScala().toSeq();
    }
    switch (type) {
      case "Boolean": return value.asBoolean();
      case "Integer": return value.asInt();
      case "Long": return value.asLong();
      case "Float": return (float) number(value);
      case "Double": return number(value);
      case "Decimal": return Decimal.apply(number(value));
      case "String": return value.asText();
      case "Binary": return bytes(value.asText());
      case "Vector":
        JsonNode all = value.isObject() ? value.get("values") : value;
        double[] numbers = new double[all.size()];
        for (int i = 0; i < numbers.length; ++i) numbers[i] = all.get(i).asDouble();
        if (!value.isObject()) return Vectors.dense(numbers);
        int[] indices = new int[numbers.length];
        for (int i = 0; i < indices.length; ++i) indices[i] = value.get("indices").get(i).asInt();
        return Vectors.sparse(value.get("size").asInt(), indices, numbers);
      default: return new java.sql.Timestamp(0);
    }
  }

  static Object plain(Object value) {
    if (value instanceof Decimal) return ((Decimal) value).toDouble();
    if (value instanceof byte[]) return hex((byte[]) value);
    if (value instanceof org.apache.spark.ml.linalg.Vector v) return v.toArray();
    if (!(value instanceof scala.collection.Seq)) return value;
    List<Object> list = new ArrayList<>();
    for (Object one : JavaConverters.seqAsJavaListConverter((scala.collection.Seq<?>) value).asJava()) list.add(plain(one));
    return list;
  }

  static Feature feature(JsonNode told) {
    Feature.Builder feature = Feature.newBuilder();
    for (JsonNode v : told.path("int64_list")) feature.getInt64ListBuilder().addValue(v.asLong());
    for (JsonNode v : told.path("float_list")) feature.getFloatListBuilder().addValue((float) number(v));
    for (JsonNode v : told.path("bytes_list_hex")) feature.getBytesListBuilder().addValue(ByteString.copyFrom(bytes(v.asText())));
    if (told.has("int64_list")) feature.getInt64ListBuilder();
    if (told.has("float_list")) feature.getFloatListBuilder();
    if (told.has("bytes_list_hex")) feature.getBytesListBuilder();
    return feature.build();
  }

  static Feature ofLength(JsonNode told) {
    Feature.Builder feature = Feature.newBuilder();
    String kind = told.path("kind").asText();
    if (kind.equals("int64")) feature.getInt64ListBuilder();
    if (kind.equals("float")) feature.getFloatListBuilder();
    if (kind.equals("bytes")) feature.getBytesListBuilder();
    for (int i = 0; i < told.path("length").asInt(); ++i) {
      if (kind.equals("int64")) feature.getInt64ListBuilder().addValue(i);
      if (kind.equals("float")) feature.getFloatListBuilder().addValue(i);
      if (kind.equals("bytes")) feature.getBytesListBuilder().addValue(ByteString.EMPTY);
    }
    return feature.build();
  }

  static FeatureList list(JsonNode steps, Function<JsonNode, Feature> of) {
    FeatureList.Builder list = FeatureList.newBuilder();
    for (JsonNode step : steps) list.addFeature(of.apply(step));
    return list.build();
  }

  static Map<String, Object> shown(Feature feature) {
    List<Object> values = new ArrayList<>();
    String name = "bytes_list_hex";
    for (ByteString v : feature.getBytesList().getValueList()) values.add(hex(v.toByteArray()));
    if (feature.hasInt64List()) name = "int64_list";
    values.addAll(feature.getInt64List().getValueList());
    if (feature.hasFloatList()) name = "float_list";
    values.addAll(feature.getFloatList().getValueList());
    return Map.of(name, values);
  }

  static Object infer(JsonNode in) throws Throwable {
    boolean sequence = in.path("recordType").asText().equals("SequenceExample");
    Object so_far = new scala.collection.mutable.HashMap<String, DataType>();
    Method method = null;
    for (Method one : TensorFlowInferSchema$.class.getMethods())
      if (one.getName().endsWith(sequence ? "$inferSequenceExampleRowType" : "$inferExampleRowType")) method = one;
    Iterable<JsonNode> rows = in.has("rows") ? in.get("rows") : List.of(json.createObjectNode().set("x", in.get("feature_list")));
    for (JsonNode row : rows) {
      Features.Builder features = Features.newBuilder();
      FeatureLists.Builder lists = FeatureLists.newBuilder();
      for (var column : (Iterable<Map.Entry<String, JsonNode>>) row::fields) {
        if (column.getValue().isArray()) lists.putFeatureList(column.getKey(), list(column.getValue(), Connector::ofLength));
        else features.putFeature(column.getKey(), ofLength(column.getValue()));
      }
      Object record = sequence ? SequenceExample.newBuilder().setContext(features).setFeatureLists(lists).build()
                               : Example.newBuilder().setFeatures(features).build();
      try {
        so_far = method.invoke(TensorFlowInferSchema$.MODULE$, so_far, record);
      } catch (InvocationTargetException thrown) {
        throw thrown.getCause();
      }
    }
    Map<String, String> schema = new TreeMap<>();
    JavaConverters.mapAsJavaMapConverter((scala.collection.Map<String, DataType>) so_far).asJava()
        .forEach((name, found) -> schema.put(name, text(found)));
    return in.has("rows") ? Map.of("schema", schema) : Map.of("type", schema.get("x"));
  }

  static Object encode(JsonNode in) {
    String type = in.get("type").asText();
    StructField field = new StructField("x", type(type), in.path("nullable").asBoolean(true), Metadata.empty());
    Row row = new GenericRowWithSchema(new Object[] {value(in.get("value"), type)}, new StructType(new StructField[] {field}));
    Features features;
    if (in.path("recordType").asText().equals("SequenceExample")) {
      SequenceExample sequence = DefaultTfRecordRowEncoder.encodeSequenceExample(row);
      features = sequence.getContext();
      FeatureList list = sequence.getFeatureLists().getFeatureListMap().get("x");
      if (list != null) {
        List<Object> steps = new ArrayList<>();
        for (Feature step : list.getFeatureList()) steps.add(shown(step));
        return Map.of("feature_list", steps);
      }
    } else {
      features = DefaultTfRecordRowEncoder.encodeExample(row).getFeatures();
    }
    Feature feature = features.getFeatureMap().get("x");
    return Collections.singletonMap("feature", feature == null ? null : shown(feature));
  }

  static Object decode(JsonNode in) {
    StructField field = new StructField("x", type(in.get("type").asText()), in.path("nullable").asBoolean(true), Metadata.empty());
    StructType schema = new StructType(new StructField[] {field});
    Features.Builder features = Features.newBuilder();
    if (in.hasNonNull("feature")) features.putFeature("x", feature(in.get("feature")));
    Row row;
    if (in.has("feature_list") || in.get("type").asText().startsWith("Array<Array<")) {
      FeatureLists.Builder lists = FeatureLists.newBuilder();
      if (in.hasNonNull("feature_list")) lists.putFeatureList("x", list(in.get("feature_list"), Connector::feature));
      row = DefaultTfRecordRowDecoder.decodeSequenceExample(
          SequenceExample.newBuilder().setContext(features).setFeatureLists(lists).build(), schema);
    } else {
      row = DefaultTfRecordRowDecoder.decodeExample(Example.newBuilder().setFeatures(features).build(), schema);
    }
    return Collections.singletonMap("value", plain(row.get(0)));
  }

  public static void main(String[] args) throws Exception {
    Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8);
    var out = new java.io.PrintStream(System.out, false, StandardCharsets.UTF_8);
    while (lines.hasNextLine()) {
      JsonNode question = json.readTree(lines.nextLine());
      Object answer;
      try {
        JsonNode in = question.get("input");
        String group = question.get("group").asText();
        answer = group.equals("spark_infer_schema") ? infer(in) : group.equals("spark_encode") ? encode(in) : decode(in);
      } catch (Throwable thrown) {
        answer = Map.of("error", thrown.getClass().getSimpleName(), "message", String.valueOf(thrown.getMessage()));
      }
      out.println(json.writeValueAsString(Map.of("id", question.get("id"), "output", answer)));
    }
    out.flush();
  }
}
