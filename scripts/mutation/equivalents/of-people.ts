import { allSince, inFile } from './equivalent.ts'
import type { Equivalent } from './equivalent.ts'

export const equivalentsOfPeople: readonly Equivalent[] = [
  ...inFile('packages/identity/src/people/manage-people.ts', [
    {
      line: 'return after ?? required([], name)',
      becomes: 'return after ?? required(["Stryker was here"], name)',
      reason:
        'an edit that did not throw has set it; the other branch is for the compiler and finds no person',
    },
    {
      line: "const named = caller.kind === 'human' ? caller.person : undefined",
      becomes: 'const named = true ? caller.person : undefined',
      reason: 'the line above lets people alone through',
    },
    {
      line: 'if (before === undefined && named !== undefined) required(people, named)',
      becomes: 'if (true && named !== undefined) required(people, named)',
      reason: 'the person that exists is found, and the result is not used',
    },
    {
      line: "record(caller, 'removed', await rewrite(name, () => null))",
      becomes: "record(caller, 'removed', await rewrite(name, () => undefined))",
      reason: 'where there is no entry to put in its place it is left out, null or undefined',
    },
    {
      line: 'identities: [identity],',
      becomes: 'identities: [],',
      reason: 'the identity is added to it before it is kept, once',
    },
    {
      line: 'const { add_identities: added = [], remove_identities: removed = [] } = change',
      becomes:
        'const { add_identities: added = [], remove_identities: removed = ["Stryker was here"] } = change',
      reason: 'no identity is spelled like that, so none is taken away',
    },
  ]),
  ...inFile(
    'packages/identity/src/people/prove-owner.ts',
    allSince('the guard lets people alone through to where it is asked', [
      [
        "return (caller.kind === 'human' ? caller.person : undefined) ?? null",
        'return (true ? caller.person : undefined) ?? null',
      ],
    ]),
  ),
  ...inFile('packages/protocol/src/people.ts', [
    {
      line: "return person.token_expires_at !== null && Date.parse(person.token_expires_at) <= now ? 'expired' : 'valid'",
      becomes: "return true && Date.parse(person.token_expires_at) <= now ? 'expired' : 'valid'",
      reason: 'no time is read as no number, which is not before any',
    },
  ]),
]
