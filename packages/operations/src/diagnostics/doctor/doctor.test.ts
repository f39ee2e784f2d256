import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dataPaths } from '../../../../foundation/src/config/data-paths.ts'
import { defaultSettings, parseSettings } from '../../../../foundation/src/config/settings-file.ts'
import { dataFindings } from './data-findings.ts'
import { diskFinding, fileFindings, homeFinding } from './file-findings.ts'
import { modelFindings } from './model-findings.ts'

test('a readable .env is an error with the command that repairs it', async () => {
  const home = await mkdtemp(join(tmpdir(), 'flotilla-doctor-'))
  await writeFile(join(home, '.env'), '')
  await chmod(join(home, '.env'), 0o644)
  const found = (await fileFindings(dataPaths(home))).find((finding) => finding.id === 'env-file-private')
  expect(found).toMatchObject({ level: 'error', repair: `chmod 600 ${join(home, '.env')}` })
  await chmod(join(home, '.env'), 0o600)
  expect((await fileFindings(dataPaths(home))).every((finding) => finding.level === 'ok')).toBe(true)
  await rm(home, { recursive: true })
})

test('a home that cannot be created is an error that names the obstacle', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'flotilla-doctor-'))
  await writeFile(join(folder, 'file'), '')
  const findings = await Promise.all(
    [
      folder,
      join(folder, 'a', 'b'),
      join(folder, 'file', 'home'),
      '/proc/flotilla',
      '/sys/flotilla/home',
    ].map((home) => homeFinding({ home })),
  )
  expect(findings.map(({ level }) => level)).toEqual(['ok', 'ok', 'error', 'error', 'error'])
  expect(findings[2]?.detail).toContain(`${join(folder, 'file')} is not a folder`)
  expect(findings[3]?.detail).toContain('/proc belongs to the kernel')
  await rm(folder, { recursive: true })
})

test('a missing provider and a missing model are warnings that say what to set', () => {
  const findings = modelFindings({
    settings: defaultSettings,
    systemNames: [],
    defaultModel: null,
    presets: ['openai'],
  })
  expect(findings.map(({ id, level }) => [id, level])).toEqual([
    ['provider-configured', 'warning'],
    ['default-model', 'warning'],
  ])
})

test('a provider without its key is an error that names the variable', () => {
  const settings = {
    ...defaultSettings,
    providers: {
      groq: {
        kind: 'openai-compatible' as const,
        base_url: 'http://127.0.0.1:1',
        api_key: 'groq_key',
        local: false,
      },
    },
  }
  const findings = modelFindings({
    settings,
    systemNames: [],
    defaultModel: { name: 'groq/x', from: 'the settings' },
    presets: [],
  })
  expect(findings.find((finding) => finding.level === 'error')?.detail).toContain('FLOTILLA_SYSTEM_GROQ_KEY')
})

test.each([
  ['own/whisper', 'ok'],
  ['openai/whisper-1', 'ok'],
  ['nobody/whisper', 'error'],
])('a model for voice notes of no provider is an error: %s', (model, level) => {
  const settings = parseSettings(
    JSON.stringify({
      providers: { own: { kind: 'openai-compatible', base_url: 'http://127.0.0.1:1' } },
      channels: { voice: { model, usd_per_minute: 0.006 } },
    }),
  )
  const known = { settings, systemNames: ['openai_api_key'], defaultModel: null, presets: ['openai'] }
  const found = modelFindings(known).find(({ id }) => id === 'voice-model')
  expect(found?.level).toBe(level)
  expect(found?.detail).toContain(model)
})

test('little disk space is a warning', () => {
  expect(diskFinding({ bytes: 1024, path: '/' }).level).toBe('warning')
  expect(diskFinding({ bytes: 1024 ** 4, path: '/' }).level).toBe('ok')
})

test('the limit of agent data is reported, and why it is only metered', () => {
  const known = { limitMb: 5120, volumes: [] }
  expect(dataFindings({ ...known, meteredBecause: null })).toMatchObject([{ id: 'data-limit', level: 'ok' }])
  const [metered] = dataFindings({ ...known, meteredBecause: 'the mesh does not run as root' })
  expect(metered).toMatchObject({ id: 'data-limit', level: 'warning' })
  expect(metered?.detail).toContain('does not run as root')
})

test('a volume above its lowered limit is named', () => {
  const mb = 1024 * 1024
  const volumes = [
    { agentId: 'fits', sizeBytes: 64 * mb, limitBytes: 64 * mb },
    { agentId: 'large', sizeBytes: 200 * mb, limitBytes: 64 * mb },
  ]
  const found = dataFindings({ meteredBecause: null, limitMb: 64, volumes })
  expect(found.slice(1)).toMatchObject([
    { id: 'data-limit-kept', detail: expect.stringContaining('large has 200 MB') as unknown },
  ])
})
