import type { Clause } from './clause.ts'

// One clause a line, so that a change of state changes one line and rarely conflicts with another change.
// oxfmt-ignore
export const errorsClauses = [
  { line: 227, id: 'errors:wallet-seed', state: 'covered', by: 'wallet', text: '`GET /api/wallet/seed` at any time after the reveal results in HTTP 410 Gone.' },
  { line: 228, id: 'errors:tool-loop:fourth-repeat', state: 'covered', by: 'run-loop', text: 'A tool call that is the 4th repeat is skipped and an error is returned to the agent.' },
  { line: 229, id: 'errors:tool-loop:ninth-repeat', state: 'covered', by: 'run-loop', text: 'The 9th repeat terminates the loop with failure status.' },
  { line: 230, id: 'errors:permissions:missing-file', state: 'covered', by: 'policy', text: 'A missing `config/permissions.json` results in all permissions denied.' },
  { line: 231, id: 'errors:permissions:absent', state: 'covered', by: 'policy', text: 'A permission that is absent for an action results in a denial (default deny).' },
  { line: 232, id: 'errors:outbound:dns-failure', state: 'covered', by: 'egress', text: 'An outbound request that fails DNS resolution is rejected (fail-closed).' },
  { line: 233, id: 'errors:outbound:blocked-range', state: 'deviates', decision: 'docs/decisions/2026-11-28-mark-deviations-from-the-specification.md', text: 'An outbound request to a blocked address range is rejected.' },
  { line: 234, id: 'errors:skill:forbidden-import', state: 'covered', by: 'skills', text: 'A skill with a forbidden import is rejected.' },
  { line: 234, id: 'errors:skill:forbidden-call', state: 'covered', by: 'skills', text: 'A skill with a forbidden call is rejected.' },
  { line: 234, id: 'errors:skill:forbidden-attribute', state: 'covered', by: 'skills', text: 'A skill with a forbidden attribute access is rejected.' },
  { line: 234, id: 'errors:skill:too-long', state: 'covered', by: 'skills', text: 'A skill of over 10,000 chars is rejected.' },
  { line: 235, id: 'errors:path-outside-data', state: 'covered', by: 'agent', text: 'A path outside `/data` is rejected for agent file operations.' },
  { line: 236, id: 'errors:webhook-signature', state: 'covered', by: 'webhook', text: 'On a webhook signature mismatch when a secret is set, verification fails.' },
  { line: 237, id: 'errors:ceiling:spawn-refused', state: 'covered', by: 'policy', text: 'An attempt to have the operator grant `can_spawn` is refused.' },
  { line: 237, id: 'errors:ceiling:wallet-refused', state: 'covered', by: 'policy', text: 'An attempt to have the operator grant `can_use_wallet` is refused.' },
  { line: 239, id: 'errors:problem-bodies', state: 'covered', by: 'protocol', text: 'The status codes and the body format of rejections and denials other than 410 are not shown.', decided: 'docs/reference/http-api.md#errors' },
] as const satisfies readonly Clause<'errors'>[]
