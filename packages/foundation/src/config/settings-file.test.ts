import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { modelEntries, modelSettingsOf } from './model-settings.ts'
import { dataLimitBytes, defaultSettings, readSettingsFile } from './settings-file.ts'

async function reading(text: string) {
  const path = join(await mkdtemp(join(tmpdir(), 'settings-')), 'settings.json')
  await writeFile(path, text)
  return await readSettingsFile(path)
}

describe('the limit on the data of an agent', () => {
  test('the limit on the data of an agent is 5 GB, unless the fleet or the agent has another', async () => {
    expect(dataLimitBytes(defaultSettings, 'clerk')).toBe(5 * 1024 ** 3)
    const settings = await reading('{"data_limit_mb": 100, "agents": {"clerk": {"data_limit_mb": 200}}}')
    expect(dataLimitBytes(settings, 'clerk')).toBe(200 * 1024 ** 2)
    expect(dataLimitBytes(settings, 'other')).toBe(100 * 1024 ** 2)
  })

  test.each([63, 64.5, 1_048_577, '5GB'])('a data limit of %s is rejected', async (limit) => {
    await expect(reading(JSON.stringify({ data_limit_mb: limit }))).rejects.toMatchObject({
      code: 'unprocessable',
    })
  })
})

describe('the settings file', () => {
  test('a missing settings file gives the defaults', async () => {
    expect(await readSettingsFile('/nowhere/settings.json')).toEqual(defaultSettings)
    expect(defaultSettings.rate_limits.llm).toBe(600)
  })

  test('the settings file is parsed with defaults for omitted fields', async () => {
    const settings = await reading(
      '{"providers":{"ollama":{"kind":"openai-compatible","base_url":"http://127.0.0.1:11434/v1","local":true}},"models":{"openai/x":{"price":{"input_per_mtok":1,"output_per_mtok":2}}}}',
    )
    expect(settings.providers['ollama']).toMatchObject({ local: true })
    expect(settings.models['openai/x']).toMatchObject({ price: { input_per_mtok: 1 } })
    expect(settings.models['openai/x']?.local).toBeUndefined()
  })

  test('the models of heartbeats and summaries are beside the settings of models and are not taken for a model', async () => {
    const settings = await reading(
      '{"models":{"heartbeat":"openai/x","compaction":"openai/y","openai/x":{"context":5}}}',
    )
    expect(settings.models).toMatchObject({ heartbeat: 'openai/x', compaction: 'openai/y' })
    expect([...modelEntries(settings)]).toEqual([['openai/x', { context: 5 }]])
    expect(modelSettingsOf(settings, 'openai/x')).toEqual({ context: 5 })
    expect(modelSettingsOf(settings, 'heartbeat')).toBeUndefined()
  })

  test.each([
    ['a comma too many', '{\n  "models": {},\n}', 3],
    ['an unknown key', '{\n  "models": {},\n  "modles": {}\n}', 3],
    ['a key twice', '{\n  "models": {},\n\n  "models": {}\n}', 4],
    ['a comment', '{\n  // price\n  "models": {}\n}', 2],
    [
      'a wrong value deep inside',
      '{\n "models": {\n  "a/b": {\n   "price": {\n    "input_per_mtok": -1,\n    "output_per_mtok": 1\n   }\n  }\n }\n}',
      5,
    ],
    ['a model of heartbeats that is no name', '{\n "models": {\n  "heartbeat": { "local": true }\n }\n}', 3],
    ['an unknown word for thinking', '{\n "answers": {\n  "chat": { "thinking": "hard" }\n }\n}', 3],
    ['answers of an unknown kind of run', '{\n "answers": {\n  "tool": {}\n }\n}', 3],
    ['nothing', '', 1],
    [
      'a header for a provider',
      '{"providers":{"a":{"kind":"openai-compatible",\n"base_url":"http://x",\n"headers":{}}}}',
      3,
    ],
  ])('the settings file with %s is refused with the line', async (_what, text, line) => {
    await expect(reading(text)).rejects.toMatchObject({ code: 'unprocessable', extra: { line } })
    await expect(reading(text)).rejects.toThrow(`config/settings.json line ${line}: `)
  })
})
