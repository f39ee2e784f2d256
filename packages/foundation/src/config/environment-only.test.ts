import { mkdtemp, readFile, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { systemClock } from '../platform/system-clock.ts'
import { createFileEditor } from './atomic-file.ts'
import { withoutEnvironmentOnly } from './environment-only.ts'
import { watchSettings } from './watch-settings.ts'

const names = [
  'CAPTCHA_SOLVER_KEY',
  'CAPTCHA_SOLVER_KEY_SECONDARY',
  'CAPTCHA_SOLVER_PROXY_LOGIN',
  'CAPTCHA_SOLVER_PROXY_PASSWORD',
]

describe('secrets that belong into the environment alone', () => {
  test('secrets that belong into the environment alone are taken out of the settings file when it is loaded, and the rest of it holds', async () => {
    verifies('resources:credential:captcha-stripped')
    const path = join(await mkdtemp(join(tmpdir(), 'settings-')), 'settings.json')
    const secrets = Object.fromEntries(names.map((name) => [name, `canary of ${name}`]))
    await writeFile(path, JSON.stringify({ ...secrets, default_model: 'openai/one', models: {} }, null, 2))
    const stripped: string[] = []
    const broken: string[] = []
    const clock = {
      ...systemClock,
      sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(5, signal),
    }
    const settings = await watchSettings({
      path,
      clock,
      editor: createFileEditor(),
      onBroken: (detail) => broken.push(detail),
      onStripped: (names) => stripped.push(...names),
    })
    expect(settings.current().default_model).toBe('openai/one')
    expect(JSON.stringify(settings.current())).not.toContain('canary')
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ default_model: 'openai/one', models: {} })
    expect(stripped.toSorted()).toEqual(names.toSorted())

    // Also if a person adds one by hand later.
    await writeFile(`${path}.new`, '{"captcha_solver_key": "canary again", "default_model": "openai/two"}')
    await rename(`${path}.new`, path)
    await expect.poll(() => settings.current().default_model).toBe('openai/two')
    await expect.poll(async () => readFile(path, 'utf8')).not.toContain('canary')
    expect(broken).toEqual([])
    await settings.close()
  })

  test.each([
    ['{"a": {"Captcha_Solver_Key": 1, "b": 2}}', '{"a": {"b": 2}}', 1],
    ['{"a": [{"CAPTCHA_SOLVER_PROXY_LOGIN": {"x": 1}}]}', '{"a": [{}]}', 1],
    ['{"CAPTCHA_SOLVER_KEY": 1, "CAPTCHA_SOLVER_KEY": 2}', '{}', 2],
    ['{"a": "CAPTCHA_SOLVER_KEY"}', '{"a": "CAPTCHA_SOLVER_KEY"}', 0],
    ['{"MY_CAPTCHA_SOLVER_KEY": 1}', '{"MY_CAPTCHA_SOLVER_KEY": 1}', 0],
    ['', '', 0],
    ['[1, 2]', '[1, 2]', 0],
  ])('secrets that belong into the environment alone are found in %s', (text, rest, count) => {
    const found = withoutEnvironmentOnly(text)
    expect(found.removed).toHaveLength(count)
    expect(found.text.replace(/\s/g, '')).toBe(rest.replace(/\s/g, ''))
  })

  test('secrets that belong into the environment alone do not come through a file that is broken besides', () => {
    const { text } = withoutEnvironmentOnly('{"CAPTCHA_SOLVER_KEY": "canary", "models": {}, }')
    expect(text).not.toContain('canary')
  })
})
