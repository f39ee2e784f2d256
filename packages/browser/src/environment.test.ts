import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readEnvironment } from './environment.ts'
import { takeProxyToken } from './proxy-token.ts'

const variables = {
  FLOTILLA_AGENT_ID: 'surfer',
  FLOTILLA_MESH_PUBLIC_KEY: 'A'.repeat(43),
  FLOTILLA_BROWSER_GATEWAY: '10.64.0.1',
  FLOTILLA_BROWSER_PROXY_PORT: '8423',
}

test('the settings of a browser come in by four variables, and each that is wrong is named', () => {
  expect(readEnvironment(variables)).toMatchObject({
    agentId: 'surfer',
    proxy: { host: '10.64.0.1', port: 8423 },
  })
  expect(() =>
    readEnvironment({ ...variables, FLOTILLA_BROWSER_GATEWAY: 'mesh', FLOTILLA_MESH_PUBLIC_KEY: '' }),
  ).toThrow('FLOTILLA_MESH_PUBLIC_KEY, FLOTILLA_BROWSER_GATEWAY')
})

test('the token is taken once, its file with it, and a file without one is refused', () => {
  const folder = mkdtempSync(join(tmpdir(), 'briefing-'))
  const path = join(folder, 'proxy-token')
  writeFileSync(path, 'short\n')
  expect(() => takeProxyToken(folder)).toThrow('is invalid')
  writeFileSync(path, `${'t'.repeat(32)}\n`)
  const token = takeProxyToken(folder)
  expect([token.value, token.isGone()]).toEqual(['t'.repeat(32), true])
  expect(() => takeProxyToken(folder)).toThrow('cannot be read')
})
