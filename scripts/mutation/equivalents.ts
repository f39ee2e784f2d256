/** A mutant that no test can kill, since nothing that anybody could see is different with it. */
export interface Equivalent {
  readonly file: string
  /** The line where it begins, trimmed. */
  readonly line: string
  /** What the mutant makes of it. */
  readonly becomes: string
  readonly reason: string
}

/** They do not count in the score. An entry that no mutant answers to, or that a test kills, fails the run. */
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
  ...inFile('packages/mesh/src/approvals/ask-approval.ts', [
    {
      line: "runId: caller.kind === 'agent' ? (caller.run?.runId ?? null) : null,",
      becomes: 'runId: true ? (caller.run?.runId ?? null) : null,',
      reason: 'a caller that is no agent has no run, so both ways it is null',
    },
  ]),
  ...inFile('packages/mesh/src/policy/authorize.ts', [
    {
      line: "return action.do === 'call-api' && programApis.includes(action.api)",
      becomes: 'return true && programApis.includes(action.api)',
      reason: 'no other action has an api, and what is not there is in no list',
    },
  ]),
  ...inFile('packages/mesh/src/conditions/condition-words.ts', [
    {
      line: "at += (space ?? name ?? number ?? quoted ?? sign ?? ' ').length",
      becomes: 'at += (space ?? name ?? number ?? quoted ?? sign ?? "").length',
      reason: 'where none was found the line above has thrown',
    },
  ]),
  ...inFile('packages/mesh/src/conditions/parse-condition.ts', [
    {
      line: 'if (!(error instanceof RE2JSException)) throw error',
      becomes: 'if (false) throw error',
      reason: 'the library throws nothing else for a text; a fault of its own is not to be told to an owner',
    },
  ]),
  ...inFile('packages/mesh/src/runs/lease.ts', [
    {
      line: 'if (run.leaseUntil !== null && run.leaseUntil - now > renewBelowMs) return run.leaseUntil',
      becomes: 'if (true && run.leaseUntil - now > renewBelowMs) return run.leaseUntil',
      reason: 'no lease counts as one until 1970 there, of which nothing is left either',
    },
  ]),
  ...inFile('packages/mesh/src/runs/settle-run.ts', [
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
]

function inFile(file: string, entries: readonly Omit<Equivalent, 'file'>[]): readonly Equivalent[] {
  return entries.map((entry) => ({ file, ...entry }))
}
