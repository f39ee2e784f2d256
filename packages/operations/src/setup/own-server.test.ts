import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Caller } from '../../../identity/src/access/index.ts'
import { createFileEditor } from '../../../foundation/src/config/atomic-file.ts'
import { settingsSchema } from '../../../foundation/src/config/settings-file.ts'
import type { Settings } from '../../../foundation/src/config/settings-file.ts'
import { createVault } from '../../../egress/src/credentials/index.ts'
import { createTryProvider } from '../../../inference/src/models/gateway/try-provider.ts'
import { setupOf } from '../../../inference/src/models/providers/provider-setup.ts'
import { systemClock } from '../../../foundation/src/platform/system-clock.ts'
import { readSetup } from './choose-model.ts'
import { removeProvider, storeProvider } from './keep-provider.ts'
import type { SetupContext, StoredInput } from './setup-context.ts'

const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli', local: true }
const address = 'http://10.0.0.5:8000/v1'
const other = 'http://10.0.0.6:8000/v1'

/** A home whose settings change with each edit. Each state on the way is checked: which key goes to which address. */
async function aHome({
  env = '',
  providers = {},
}: {
  readonly env?: string
  readonly providers?: Record<string, unknown>
} = {}) {
  const envFilePath = join(await mkdtemp(join(tmpdir(), 'own-server-')), '.env')
  await writeFile(envFilePath, env)
  let settings = settingsSchema.parse({ providers })
  const sent = new Set<string>()
  const real = createFileEditor()
  const vault = await createVault({
    env: {},
    envFilePath,
    editor: {
      edit: async (...what) => {
        look()
        await real.edit(...what)
      },
    },
  })
  /** Records where a call of each server would send which key now. */
  function look(): void {
    for (const name of Object.keys(settings.providers)) {
      try {
        const setup = setupOf({ settings: () => settings, system: (key) => vault.system(key) }, name)
        if ('apiKey' in setup) sent.add(`${setup.apiKey?.reveal() ?? 'no key'} to ${setup.baseUrl}`)
      } catch {
        // A server whose key is missing is not called.
      }
    }
  }
  const known = createTryProvider({
    settings: () => settings,
    vault,
    makeProvider: () => {
      throw new Error('this test makes no requests')
    },
    clock: systemClock,
  })
  const context = {
    guard: () => {},
    settings: () => settings,
    vault,
    catalog: { preset: () => null },
    environment: { defaultModel: null, defaultModelFrom: null },
    places: [],
    fingerprint: () => 'fingerprint',
    journal: { append: () => {} },
    settingsFile: {
      edit: async ([, name]: readonly string[], entry: unknown) => {
        look()
        const { [name ?? '']: _replaced, ...rest } = settings.providers
        const next = entry === undefined ? rest : { ...rest, [name ?? '']: entry }
        settings = settingsSchema.parse({ providers: next })
        look()
      },
    },
    tryProvider: { ...known, ask: async () => {}, models: async () => [] },
  } as never as SetupContext
  const store = async (input: Partial<StoredInput> & { readonly provider: string }, caller = owner) => {
    const body = { model: 'm', make_default: false, ...input }
    const stored = await storeProvider(context, caller, { input: body, signal: new AbortController().signal })
    look()
    return stored
  }
  const entry = (name: string): Settings['providers'][string] | undefined => settings.providers[name]
  const offer = (name: string) => readSetup(context, owner).providers.find((one) => one.name === name)
  return { context, store, entry, offer, sent: () => [...sent].toSorted(), vault, look }
}

test('a server of the owner is stored under its name, with a credential of its own', async () => {
  const home = await aHome()
  const stored = await home.store({
    provider: 'gpu-box',
    base_url: address,
    key: 'sk-box',
    costs_nothing: true,
  })
  expect(stored).toMatchObject({ provider: 'gpu-box', model: 'gpu-box/m' })
  expect(home.entry('gpu-box')).toEqual({
    kind: 'openai-compatible',
    base_url: address,
    api_key: 'server_gpu_box_api_key',
    local: true,
  })
  expect(home.offer('gpu-box')).toMatchObject({
    own_server: true,
    key: 'file',
    ready: true,
    address: { url: address, from: 'settings' },
  })
  expect(home.vault.system('openai_api_key')).toBeUndefined()
  expect(home.sent()).toEqual([`sk-box to ${address}`])
})

test('several servers have several names, addresses and keys', async () => {
  const home = await aHome()
  await home.store({ provider: 'one', base_url: address, key: 'sk-one' })
  await home.store({ provider: 'two', base_url: other, key: 'sk-two' })
  await home.store({ provider: 'three', base_url: 'http://10.0.0.7/v1' })
  expect(home.sent()).toEqual(['no key to http://10.0.0.7/v1', `sk-one to ${address}`, `sk-two to ${other}`])
})

test('a server with the name of another service gets no key of that service', async () => {
  const home = await aHome({ env: "FLOTILLA_SYSTEM_BRAVE_API_KEY='sk-search'\n" })
  await home.store({ provider: 'brave', base_url: address })
  await home.store({ provider: 'brave', key: 'sk-server' })
  expect(home.vault.system('brave_api_key')?.reveal()).toBe('sk-search')
  expect(home.sent()).toEqual([`no key to ${address}`, `sk-server to ${address}`])
})

test('a stored key does not follow a server to another address; a new key goes only to the new one', async () => {
  const home = await aHome()
  await home.store({ provider: 'box', base_url: address, key: 'sk-old' })
  await expect(home.store({ provider: 'box', base_url: other })).rejects.toMatchObject({
    code: 'unprocessable',
    detail: 'the stored key of box belongs to 10.0.0.5:8000',
  })
  await home.store({ provider: 'box', base_url: other, key: 'sk-new' })
  expect(home.sent()).toEqual([`no key to ${other}`, `sk-new to ${other}`, `sk-old to ${address}`])
})

test('a removed server leaves no key for the next server of its name', async () => {
  const home = await aHome()
  await home.store({ provider: 'box', base_url: address, key: 'sk-old' })
  await removeProvider(home.context, owner, 'box')
  expect(home.entry('box')).toBeUndefined()
  expect(home.vault.system('server_box_api_key')).toBeUndefined()
  await home.store({ provider: 'box', base_url: other })
  expect(home.sent()).toEqual([`no key to ${other}`, `sk-old to ${address}`])
})

test('a key that was left by an interrupted removal is not sent to the next server of its name', async () => {
  const home = await aHome({ env: "FLOTILLA_SYSTEM_SERVER_BOX_API_KEY='sk-left'\n" })
  await expect(home.store({ provider: 'box', base_url: other })).rejects.toMatchObject({
    code: 'unprocessable',
  })
  await home.store({ provider: 'box', base_url: other, key: 'sk-new' })
  expect(home.sent()).toEqual([`sk-new to ${other}`])
})

test('a key that the owner named for several servers stays when one of them is removed', async () => {
  const server = { kind: 'openai-compatible', base_url: address, api_key: 'shared_api_key' }
  const home = await aHome({
    env: "FLOTILLA_SYSTEM_SHARED_API_KEY='sk-shared'\n",
    providers: { one: server, two: { ...server, base_url: other } },
  })
  await removeProvider(home.context, owner, 'one')
  expect(home.vault.system('shared_api_key')?.reveal()).toBe('sk-shared')
  expect(home.entry('two')).toBeDefined()
  await expect(home.store({ provider: 'two', base_url: address, key: 'sk-x' })).rejects.toMatchObject({
    code: 'conflict',
  })
})

test.each([
  ['a known provider without an address', { provider: 'nowhere' }],
  ['the scripted model', { provider: 'scripted', base_url: address }],
  ['a name that shares its key with another server', { provider: 'gpu_box', base_url: address }],
  ['free calls of a known provider', { provider: 'openai', key: 'sk', costs_nothing: true }],
])('%s is not stored as an own server', async (_what, input) => {
  const home = await aHome({
    providers: { 'gpu-box': { kind: 'openai-compatible', base_url: other } },
  })
  await expect(home.store(input)).rejects.toMatchObject({ code: 'unprocessable' })
  expect(home.sent()).toEqual([])
})

test('only the owner on this machine adds a server, and a page only with a proof', async () => {
  const home = await aHome()
  const away: Caller = { kind: 'human', role: 'owner', channel: 'api', local: false } as never
  await expect(home.store({ provider: 'box', base_url: address }, away)).rejects.toMatchObject({
    code: 'denied',
  })
  const page: Caller = { ...owner, page: 'unproved' } as never
  await expect(home.store({ provider: 'box', base_url: address }, page)).rejects.toMatchObject({
    code: 'proof-wanted',
  })
  expect(home.entry('box')).toBeUndefined()
})
