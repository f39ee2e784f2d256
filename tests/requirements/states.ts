import type { Clause } from './clause.ts'

// One clause a line, so that a change of state changes one line and rarely conflicts with another change.
// oxfmt-ignore
export const statesClauses = [
  { line: 131, id: 'states:agent:lifecycle', state: 'covered', by: 'fleet', text: 'The lifecycle states of an agent are not shown.', decided: 'docs/reference/agents.md#lifecycle' },
  { line: 135, id: 'states:tool-loop:same-triple', state: 'covered', by: 'run-loop', text: 'A repeat is a call with the same `(tool_name, params_hash, result_hash)`.' },
  { line: 135, id: 'states:tool-loop:sliding-window', state: 'covered', by: 'run-loop', text: 'Repeats are counted within a sliding window.' },
  { line: 135, id: 'states:tool-loop:warned', state: 'covered', by: 'run-loop', text: 'The 2nd repeat moves the tool loop from normal to warned.' },
  { line: 135, id: 'states:tool-loop:warning-message', state: 'covered', by: 'run-loop', text: 'On the 2nd repeat a system message tells the agent to try a different approach.' },
  { line: 136, id: 'states:tool-loop:blocked', state: 'covered', by: 'run-loop', text: 'The 4th repeat moves the tool loop from warned to blocked.' },
  { line: 136, id: 'states:tool-loop:call-skipped', state: 'covered', by: 'run-loop', text: 'On the 4th repeat the tool call is skipped and an error is returned to the agent.' },
  { line: 137, id: 'states:tool-loop:terminated', state: 'covered', by: 'run-loop', text: 'The 9th repeat moves the tool loop from blocked to terminated.' },
  { line: 137, id: 'states:tool-loop:failure-status', state: 'covered', by: 'run-loop', text: 'On the 9th repeat the loop ends with failure status.' },
  { line: 138, id: 'states:wallet-seed:revealed-once', state: 'covered', by: 'wallet', text: 'The first `POST /api/wallet/init` moves the wallet seed from not initialized to revealed once.' },
  { line: 138, id: 'states:wallet-seed:mnemonic-once', state: 'covered', by: 'wallet', text: 'The master mnemonic is returned once.' },
  { line: 138, id: 'states:wallet-seed:mnemonic-no-store', state: 'covered', by: 'wallet', text: 'The master mnemonic is returned with `Cache-Control: no-store`.' },
  { line: 139, id: 'states:wallet-seed:gone', state: 'covered', by: 'wallet', text: 'Once the seed is revealed, any `GET /api/wallet/seed` returns HTTP 410 and leaves the state unchanged.' },
  { line: 139, id: 'states:wallet-seed:no-second-reveal', state: 'covered', by: 'wallet', text: 'There is no second reveal of the wallet seed.' },
  { line: 140, id: 'states:heartbeat:skipped', state: 'covered', by: 'heartbeat', text: 'A fired heartbeat returns at once when its trigger is not manual, HEARTBEAT.md is the unmodified default, there is no recent activity and no probe triggered.' },
  { line: 140, id: 'states:heartbeat:skip-calls-no-llm', state: 'covered', by: 'heartbeat', text: 'A heartbeat that returns at once does not call the LLM.' },
  { line: 141, id: 'states:heartbeat:runs', state: 'covered', by: 'heartbeat', text: 'A fired heartbeat runs when any of the four conditions differs.' },
  { line: 141, id: 'states:heartbeat:run-bounded', state: 'covered', by: 'heartbeat', text: 'A heartbeat that runs calls the LLM up to `HEARTBEAT_MAX_ITERATIONS`.' },
  { line: 143, id: 'states:tool-loop:memory-search-exempt', state: 'covered', by: 'run-loop', text: '`memory_search` is exempt from loop detection.' },
  { line: 143, id: 'states:cron:manual-run-dispatches', state: 'deviates', decision: 'docs/decisions/2026-11-28-mark-deviations-from-the-specification.md', text: 'A manual `/cron run` always dispatches.' },
] as const satisfies readonly Clause<'states'>[]
