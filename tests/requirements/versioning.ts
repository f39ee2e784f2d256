import type { Clause } from './clause.ts'

// One clause a line, so that a change of state changes one line and rarely conflicts with another change.
// oxfmt-ignore
export const versioningClauses = [
  { line: 288, id: 'versioning:engine-version', state: 'covered', by: 'cli', text: 'The engine version is v0.1.0.' },
  { line: 289, id: 'versioning:api-scheme', state: 'covered', by: 'api', text: 'The API versioning scheme is not shown.', decided: 'docs/reference/http-api.md#versions' },
  { line: 289, id: 'versioning:path-prefixes', state: 'covered', by: 'api', text: 'Path prefixes are not shown.', decided: 'docs/reference/http-api.md#versions' },
  { line: 289, id: 'versioning:deprecation-policy', state: 'planned', by: 'api', text: 'The deprecation policy is not shown.', decided: 'docs/reference/http-api.md#versions' },
  { line: 289, id: 'versioning:compatibility-rules', state: 'planned', by: 'api', text: 'The compatibility rules are not shown.', decided: 'docs/reference/http-api.md#versions' },
] as const satisfies readonly Clause<'versioning'>[]
