import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Caller } from '../../../identity/src/access/index.ts'
import { createFileEditor } from '../../../foundation/src/config/atomic-file.ts'
import { settingsSchema } from '../../../foundation/src/config/settings-file.ts'
import { createVault } from '../../../egress/src/credentials/index.ts'
import { createTryProvider } from '../../../inference/src/models/gateway/try-provider.ts'
import { systemClock } from '../../../foundation/src/platform/system-clock.ts'
import { checkProvider, removeProvider, storeProvider } from './keep-provider.ts'
import type { ProviderInput, SetupContext } from './setup-context.ts'

const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli', local: true }
const own = 'http://10.0.0.5:8000/v1'
const usual = 'https://api.openai.com/v1'

/** A home with this `.env`, whose provider answers once `meanwhile` is through, and whose disk may be full. */
async function aHome(
  envText: string,
  meanwhile: () => Promise<unknown> = async () => {},
  models: () => readonly string[] = () => [],
) {
  const envFilePath = join(await mkdtemp(join(tmpdir(), 'keep-provider-')), '.env')
  await writeFile(envFilePath, envText)
  const real = createFileEditor()
  const disk = { writes: 0, isFull: false }
  const vault = await createVault({
    env: {},
    envFilePath,
    editor: {
      edit: async (...what) => {
        disk.writes += 1
        if (disk.isFull) throw new Error('the disk is full')
        await real.edit(...what)
      },
    },
  })
  const settings = () => settingsSchema.parse({})
  const rows: string[] = []
  const listed: unknown[] = []
  const unasked = () => {
    throw new Error('this test makes no requests')
  }
  const known = createTryProvider({ settings, vault, makeProvider: unasked, clock: systemClock })
  let isAsked = false
  const context = {
    guard: () => {},
    settings,
    vault,
    catalog: { preset: () => null },
    environment: { defaultModel: null, defaultModelFrom: null },
    places: [],
    journal: { append: ({ action }: { action: string }) => rows.push(action) },
    settingsFile: { edit: async () => {} },
    tryProvider: {
      ...known,
      ask: async () => {
        // Further requests are answered at once.
        if (isAsked) return
        isAsked = true
        await meanwhile()
      },
      models: async (candidate: unknown) => {
        listed.push(candidate)
        return models()
      },
    },
  } as never as SetupContext
  const { signal } = new AbortController()
  const store = (input: Omit<ProviderInput, 'provider'>) =>
    storeProvider(context, owner, {
      input: { provider: 'openai', model: 'm', make_default: false, ...input },
      signal,
    })
  const kept = () => ({
    key: vault.system('openai_api_key')?.reveal() ?? null,
    address: vault.system('openai_base_url')?.reveal() ?? null,
  })
  const envFile = () => readFile(envFilePath, 'utf8')
  return { context, store, kept, envFile, disk, rows, listed, signal }
}

test('a provider without a default model is refused with the models that it offers', async () => {
  const names = Array.from({ length: 12 }, (_, at) => `model-${at}`)
  const refused = async (models: () => readonly string[]) => {
    const { context, signal } = await aHome('', undefined, models)
    const input = { provider: 'gpu-box', base_url: own, make_default: true }
    return storeProvider(context, owner, { input, signal }).catch((error: unknown) => error)
  }
  expect(await refused(() => names)).toMatchObject({
    code: 'unprocessable',
    detail: expect.stringMatching(
      /gpu-box, which has no default model; it offers "model-0", .*"model-9" and 2 more$/,
    ),
  })
  const silent = (): never => {
    throw new Error('the server does not list models')
  }
  expect(await refused(silent)).toMatchObject({ detail: expect.stringMatching(/no default model$/) })
})

test('on the way back to where a provider usually is, its key and the address change in one write', async () => {
  const home = await aHome(`FLOTILLA_SYSTEM_OPENAI_BASE_URL='${own}'\n`)
  await home.store({ key: 'sk-new', base_url: usual })
  expect(home.kept()).toEqual({ key: 'sk-new', address: null })
  expect(await home.envFile()).toBe("FLOTILLA_SYSTEM_OPENAI_API_KEY='sk-new'\n")
  expect(home.disk.writes).toBe(1)
  await home.store({ key: 'sk-own', base_url: own })
  expect(home.kept()).toEqual({ key: 'sk-own', address: own })
  await removeProvider(home.context, owner, 'openai')
  expect(home.kept()).toEqual({ key: null, address: null })
  expect(home.disk.writes).toBe(3)
})

test('neither key nor address of a provider is used if they cannot be written', async () => {
  const home = await aHome(`FLOTILLA_SYSTEM_OPENAI_BASE_URL='${own}'\n`)
  home.disk.isFull = true
  await expect(home.store({ key: 'sk-new', base_url: usual })).rejects.toThrow('the disk is full')
  expect(home.kept()).toEqual({ key: null, address: own })
  expect(home.rows).toEqual([])
})

test('an address that was allowed without a key is not kept if another provider was added meanwhile', async () => {
  const home = await aHome('', () => home.store({ key: 'sk-theirs' }))
  await expect(home.store({ base_url: own })).rejects.toMatchObject({
    code: 'conflict',
    detail: 'openai was set up by another person meanwhile; nothing was saved',
  })
  expect(home.kept()).toEqual({ key: 'sk-theirs', address: null })
  expect(home.rows).toEqual(['provider.stored'])
})

test('a key does not follow an address that was set meanwhile, or take the place of a newer one', async () => {
  const address = await aHome('', () => address.store({ base_url: own }))
  await expect(address.store({ key: 'sk-mine' })).rejects.toMatchObject({ code: 'conflict' })
  expect(address.kept()).toEqual({ key: null, address: own })
  const key = await aHome('', () => key.store({ key: 'sk-same' }))
  await expect(key.store({ key: 'sk-same' })).rejects.toMatchObject({ code: 'conflict' })
  expect(key.kept()).toEqual({ key: 'sk-same', address: null })
})

test('the second of two concurrent additions of a provider is refused', async () => {
  const home = await aHome('')
  const ended = await Promise.allSettled([home.store({ base_url: own }), home.store({ key: 'sk-mine' })])
  expect(ended.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const { key, address } = home.kept()
  expect([key, address]).toContain(null)
})

test('a check requests no models with a key for another provider', async () => {
  const home = await aHome('', () => home.store({ key: 'sk-theirs' }))
  const input = { provider: 'openai', model: 'm', base_url: own }
  await expect(checkProvider(home.context, owner, { input, signal: home.signal })).rejects.toMatchObject({
    code: 'conflict',
  })
  expect(home.listed).toEqual([])
})
