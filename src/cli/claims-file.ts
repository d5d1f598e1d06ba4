import { parseExpectationFile, type ExpectationFile } from "../core/expectation.ts";
import { readYamlFile } from "../store/yaml-file.ts";

/**
 * Reads a claims file, YAML or JSON. Throws "file_unreadable", and "expectation_invalid" with the file, line and column of
 * each place that is not of the form, and what was expected there.
 */
export function readClaimsFile(path: string): ExpectationFile {
  return readYamlFile(path, { parse: parseExpectationFile, code: "expectation_invalid" });
}
