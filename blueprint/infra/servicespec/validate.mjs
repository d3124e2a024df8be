// Checks a CloudFormation template, as JSON on standard input, against AWS's own description of its resources: types, required
// properties, and what values may be. Each finding is a line; what the intrinsic functions give is not looked into.
import { readFileSync } from "node:fs";
import { loadAwsServiceSpec } from "@aws-cdk/aws-service-spec";

const db = await loadAwsServiceSpec();
const template = JSON.parse(readFileSync(0, "utf8"));
const findings = [];

function isFunction(v) {
  return v && typeof v === "object" && !Array.isArray(v) && Object.keys(v).length === 1 && /^(Ref$|Fn::)/.test(Object.keys(v)[0]);
}

function checkProperties(at, properties, values) {
  for (const name of Object.keys(values)) {
    if (!properties[name]) findings.push(`${at}.${name}: there is no such property`);
    else check(`${at}.${name}`, properties[name].type, values[name]);
  }
  for (const [name, p] of Object.entries(properties)) {
    if (p.required && values[name] === undefined) findings.push(`${at}.${name}: it is required`);
  }
}

function fits(type, v) {
  const before = findings.length;
  check("", type, v);
  return findings.splice(before).length === 0;
}

function check(at, type, v) {
  if (isFunction(v)) return;
  switch (type.type) {
    case "string":
      if (typeof v !== "string") findings.push(`${at}: ${JSON.stringify(v)} is no string`);
      else if (type.allowedValues && !type.allowedValues.includes(v)) findings.push(`${at}: ${v} is none of ${type.allowedValues}`);
      return;
    case "number":
    case "integer":
      if (typeof v !== "number") findings.push(`${at}: ${JSON.stringify(v)} is no number`);
      return;
    case "boolean":
      if (typeof v !== "boolean") findings.push(`${at}: ${JSON.stringify(v)} is no boolean`);
      return;
    case "array":
      if (!Array.isArray(v)) findings.push(`${at}: it is no list`);
      else v.forEach((one, i) => check(`${at}[${i}]`, type.element, one));
      return;
    case "map":
      if (typeof v !== "object" || Array.isArray(v)) findings.push(`${at}: it is no map`);
      else Object.entries(v).forEach(([k, one]) => check(`${at}.${k}`, type.element, one));
      return;
    case "ref":
      if (typeof v !== "object" || Array.isArray(v)) findings.push(`${at}: it is no object`);
      else checkProperties(at, db.get("typeDefinition", type.reference.$ref).properties, v);
      return;
    case "union":
      if (!type.types.some((one) => fits(one, v))) findings.push(`${at}: it is none of what it may be`);
      return;
  }
}

const attributes = ["Type", "Properties", "DeletionPolicy", "UpdateReplacePolicy", "DependsOn", "Condition", "Metadata"];
for (const [id, r] of Object.entries(template.Resources)) {
  const found = db.lookup("resource", "cloudFormationType", "equals", r.Type);
  if (found.length === 0) {
    findings.push(`${id}: there is no resource ${r.Type}`);
    continue;
  }
  for (const name of Object.keys(r)) if (!attributes.includes(name)) findings.push(`${id}.${name}: a resource has no such attribute`);
  checkProperties(id, found.only().properties, r.Properties ?? {});
}
for (const f of findings) console.log(f);
