import { inFile, allSince } from './equivalent.ts'
import type { Equivalent } from './equivalent.ts'
import { equivalentsOfChannels } from './of-channels.ts'
import { equivalentsOfEgress } from './of-egress.ts'
import { equivalentsOfModels } from './of-models.ts'
import { equivalentsOfOneMesh } from './of-one-mesh.ts'
import { equivalentsOfPeople } from './of-people.ts'
import { equivalentsOfPolicy } from './of-policy.ts'
import { equivalentsOfTriggers } from './of-triggers.ts'
import { equivalentsOfVault } from './of-vault.ts'

/**
 * Mutants that do not count in the score. An entry that matches no mutant, or whose mutant a test kills, fails the
 * run.
 */
export const equivalents: readonly Equivalent[] = [
  ...inFile('packages/agent/src/files/walk-path.ts', [
    {
      line: "{ handle: await promises.open(walk.root, directoryFlags), name: '' },",
      becomes: '{ handle: await promises.open(walk.root, directoryFlags), name: "Stryker was here!" },',
      reason: 'the root has no name below itself: nothing reads it',
    },
    {
      line: 'await held.pop()?.handle.close()',
      becomes: 'await held.pop().handle.close()',
      reason: 'the line above refuses to leave the root, so there is always one to take',
    },
  ]),
  ...inFile('packages/agent/src/loop/loop-detection.ts', [
    {
      line: "if (last === null || isExempt) return { calls, verdict: 'run' }",
      becomes: "if (false || isExempt) return { calls, verdict: 'run' }",
      reason:
        'a call that was never made has no result, and none that was made has that: it runs all the same',
    },
  ]),
  ...inFile('packages/work/src/approvals/ask-approval.ts', [
    {
      line: "const runId = caller.kind === 'agent' ? (caller.run?.runId ?? null) : null",
      becomes: 'const runId = true ? (caller.run?.runId ?? null) : null',
      reason: 'a caller that is no agent has no run, so both ways it is null',
    },
    {
      line: "agent_id: requester.replace(/^agent:/, ''),",
      becomes: "agent_id: requester.replace(/agent:/, ''),",
      reason: 'names of people and channels contain no colon, so only an agent has the prefix, at the start',
    },
  ]),
  ...inFile('packages/work/src/approvals/settle-approval.ts', [
    {
      line: "agent_id: row.requester.replace(/^agent:/, ''),",
      becomes: "agent_id: row.requester.replace(/agent:/, ''),",
      reason: 'names of people and channels contain no colon, so only an agent has the prefix, at the start',
    },
  ]),
  ...inFile('packages/inference/src/models/gateway/answer-bounds.ts', [
    {
      line: 'const lengths = seen.get(keyOf(agentId, model)) ?? []',
      becomes: 'const lengths = seen.get(keyOf(agentId, model)) ?? ["Stryker was here"]',
      reason: 'one length is too few as well, and nothing is read of it',
    },
    {
      line: 'if (oldest !== undefined) seen.delete(oldest)',
      becomes: 'if (true) seen.delete(oldest)',
      reason: 'no pair has this key, so nothing is forgotten where there is no oldest',
    },
  ]),
  ...inFile('packages/inference/src/spending/budget-limits.ts', [
    {
      line: "if (project !== null && budgets.project?.name === project) addPeriods('project', project, budgets.project)",
      becomes:
        "if (true && budgets.project?.name === project) addPeriods('project', project, budgets.project)",
      reason: 'a project always has a name, so that of no project is never the same',
    },
  ]),
  ...inFile('packages/identity/src/access/authorize.ts', [
    {
      line: "return action.do === 'use-credential' || (action.do === 'call-api' && programApis.includes(action.api))",
      becomes: "return action.do === 'use-credential' || (true && programApis.includes(action.api))",
      reason: 'no other action has an api, and what is not there is in no list',
    },
  ]),
  ...inFile('packages/inbound/src/triggers/conditions/condition-tokens.ts', [
    {
      line: "at += (space ?? name ?? number ?? quoted ?? sign ?? ' ').length",
      becomes: 'at += (space ?? name ?? number ?? quoted ?? sign ?? "").length',
      reason: 'where none was found the line above has thrown',
    },
  ]),
  ...inFile('packages/inbound/src/triggers/conditions/parse-condition.ts', [
    {
      line: 'if (!(error instanceof RE2JSException)) throw error',
      becomes: 'if (false) throw error',
      reason: 'the library throws nothing else for a text; an internal error of it is not shown to an owner',
    },
  ]),
  ...inFile('packages/identity/src/access/glob.ts', [
    ...allSince('the loop ends before the pattern does, so there is always a character', [
      [
        "tokens.push({ kind: 'literal', character: pattern[at] ?? '' })",
        `tokens.push({ kind: 'literal', character: pattern[at] ?? "Stryker was here!" })`,
      ],
      ["const character = pattern[at] ?? ''", 'const character = pattern[at] ?? "Stryker was here!"'],
    ]),
    {
      line: "const from = pattern[at] ?? ''",
      becomes: 'const from = pattern[at] ?? "Stryker was here!"',
      reason: 'the loop ends at the closing bracket, so there is always a character',
    },
    {
      line: "ranges.push([from, isRange ? (pattern[at + 2] ?? '') : from])",
      becomes: 'ranges.push([from, isRange ? (pattern[at + 2] ?? "Stryker was here!") : from])',
      reason: 'a range ends before the closing bracket, so there is always a character',
    },
    ...allSince('a short cut: what the end of the name is not compared with first, the tokens are', [
      [
        "const to = tokens.findLastIndex((token) => token.kind !== 'literal')",
        'const to = tokens.findLastIndex((token) => true)',
      ],
      [
        "const to = tokens.findLastIndex((token) => token.kind !== 'literal')",
        'const to = tokens.findLastIndex((token) => token.kind !== "")',
      ],
    ]),
    ...allSince('a short cut: stars alone match whatever is between the same the long way', [
      [
        "const takesAnything = between.every((token) => token.kind === 'many')",
        'const takesAnything = between.every(() => undefined)',
      ],
      [
        "const takesAnything = between.every((token) => token.kind === 'many')",
        'const takesAnything = between.every((token) => false)',
      ],
      [
        "const takesAnything = between.every((token) => token.kind === 'many')",
        'const takesAnything = between.every((token) => token.kind === "")',
      ],
    ]),
  ]),
  ...inFile('packages/work/src/runs/dispatch/lease.ts', [
    {
      line: 'if (run.leaseUntil !== null && run.leaseUntil - now > renewBelowMs) return run.leaseUntil',
      becomes: 'if (true && run.leaseUntil - now > renewBelowMs) return run.leaseUntil',
      reason: 'no lease counts as one until 1970 there, of which nothing is left either',
    },
  ]),
  ...inFile('packages/work/src/runs/ledger/change-run.ts', [
    {
      line: '...(code === undefined ? {} : { code }),',
      becomes: '...(false ? {} : { code }),',
      reason: 'the note is kept as JSON, which leaves out what is undefined',
    },
    {
      line: '...(result === undefined ? {} : { result }),',
      becomes: '...(false ? {} : { result }),',
      reason: 'the note is kept as JSON, which leaves out what is undefined',
    },
  ]),
  ...inFile('packages/protocol/src/sanitize-for-prompt.ts', [
    {
      line: String.raw`const plain = /^[\t\n\r\x20-\x7E]*$/`,
      becomes: String.raw`const plain = /^[\t\n\r\x20-\x7E]$/`,
      reason: 'a short cut: text that has nothing to take out comes out the same the long way',
    },
    {
      line: 'if (plain.test(text)) return text as PromptText',
      becomes: 'if (false) return text as PromptText',
      reason: 'the same short cut, not taken at all',
    },
  ]),
  ...equivalentsOfChannels,
  ...equivalentsOfEgress,
  ...equivalentsOfModels,
  ...equivalentsOfOneMesh,
  ...equivalentsOfPeople,
  ...equivalentsOfPolicy,
  ...equivalentsOfTriggers,
  ...equivalentsOfVault,
]
