import { expect, test } from 'vitest'
import { credentialFinding } from './credential-findings.ts'

test('a credential that lost its value with .env is reported with the command that sets it again', () => {
  expect(credentialFinding({ bound: ['github_token', 'mail'], known: ['MAIL', 'other'] })).toMatchObject({
    id: 'credential-values',
    level: 'warning',
    detail: expect.stringContaining('binds github_token'),
    repair: expect.stringContaining('flotilla credentials set github_token'),
  })
})

test('credentials with values, and values without a host, give no finding', () => {
  expect(credentialFinding({ bound: ['mail'], known: ['mail', 'other'] }).level).toBe('ok')
  expect(credentialFinding({ bound: [], known: [] }).level).toBe('ok')
})
