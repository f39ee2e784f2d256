import { expect, test } from 'vitest'
import { whereElse } from './where-else.ts'

test.each([
  ['approve', 'flotilla pending'],
  ['approval', 'flotilla pending'],
  ['approvals', 'flotilla pending'],
  ['deny', 'flotilla pending'],
  ['reject', 'flotilla pending'],
  ['decide', 'flotilla pending'],
  ['confirm', 'flotilla pending'],
  ['credential', 'flotilla credentials'],
  ['credentials', 'flotilla credentials'],
  ['secret', 'flotilla credentials'],
  ['secrets', 'flotilla credentials'],
  ['token', 'flotilla credentials'],
  ['tokens', 'flotilla credentials'],
  ['permission', 'flotilla permissions'],
  ['permissions', 'flotilla permissions'],
  ['allow', 'flotilla permissions'],
  ['grant', 'flotilla permissions'],
  ['revoke', 'flotilla permissions'],
])('/%s points to %s', (command, where) => {
  expect(whereElse(command)).toContain(where)
})

test.each(['', 'approver', 'disapprove', 'tokenize', 'mytoken', 'grants', 'disallow', 'deploy'])(
  '/%s has no other place',
  (command) => {
    expect(whereElse(command)).toBeNull()
  },
)
