import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { authoritiesPolicy, browserProgram } from './browser-image.ts'
import { playwrightVersion } from './node-parts.ts'

const root = join(import.meta.dirname, '..', '..', '..', '..', '..')

test('browsers are driven by what our own tests drive theirs with', () => {
  const installed: unknown = JSON.parse(
    readFileSync(join(root, 'node_modules', 'playwright-core', 'package.json'), 'utf8'),
  )
  expect(installed).toMatchObject({ version: playwrightVersion })
})

test('the program of a browser is one file that asks for what drives Chromium and nothing else', async () => {
  const program = await browserProgram(join(root, 'packages', 'browser', 'src', 'main.ts'))
  const asked = [...program.toString('utf8').matchAll(/require\("([^".]+)"\)/g)].map(([, name]) => name ?? '')
  const ours = asked.filter((name) => !name.startsWith('node:') && !builtins.has(name))
  expect([...new Set(ours)].toSorted()).toEqual(['bufferutil', 'playwright-core', 'utf-8-validate'])
})

const builtins = new Set(builtinModules)

test('each authority file that the owner trusts becomes part of the Chromium policy', () => {
  const pem = (body: string) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`
  const content = Buffer.from(`Bag of\n${pem('QUJD\nREVG')}words\n${pem('R0hJ')}`)
  expect(JSON.parse(authoritiesPolicy([{ name: 'own.crt', content }]).toString())).toEqual({
    CACertificates: ['QUJDREVG', 'R0hJ'],
  })
})
