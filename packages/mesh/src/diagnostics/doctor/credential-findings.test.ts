import { expect, test } from 'vitest'
import { credentialFinding } from './credential-findings.ts'

test('a credential whose value went with the .env that held it is told with the command that gives it again', () => {
  expect(credentialFinding({ bound: ['github_token', 'mail'], known: ['MAIL', 'other'] })).toMatchObject({
    id: 'credential-values',
    level: 'warning',
    detail: expect.stringContaining('where github_token may go'),
    repair: expect.stringContaining('flotilla credentials set github_token'),
  })
})

test('credentials that have their values, and those that go nowhere, are no finding', () => {
  expect(credentialFinding({ bound: ['mail'], known: ['mail', 'other'] }).level).toBe('ok')
  expect(credentialFinding({ bound: [], known: [] }).level).toBe('ok')
})
