import { describe, expect, test } from 'vitest'
import { aModelPath, aVault, workerCaller } from '../../../../../tests/support/model-harness.ts'
import type { LlmPartsOptions } from '../../../../../tests/support/model-harness.ts'
import { answerWhole, startLlmUpstream } from '../../../../../tests/support/llm-upstream.ts'
import { aModelCatalog } from '../../../../../tests/support/model-catalog.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createPriceList } from '../catalog/model-prices.ts'
import { agentScope, utcDay } from '../../spending/sum-scopes.ts'
import { createWatchedModels } from '../gateway/watched-models.ts'

/** Cost of ten tokens at 150 and two at 600 nano-dollars. */
const listedNano = 2700
const name = { provider: 'openai', model: 'gpt-4o-mini' }
const id = 'openai/gpt-4o-mini'

function somePath(baseUrl: string, settings: object = {}, more: LlmPartsOptions = {}) {
  return aModelPath({ baseUrl, settings: { providers: {}, ...settings }, ...more })
}

/** Cost of one call of a model in the price list, whose provider is configured in `.env`. */
async function costOf(settings: object): Promise<number> {
  const upstream = await startLlmUpstream()
  upstream.answerWith((_call, response) => answerWhole(response))
  const parts = somePath(upstream.baseUrl, settings)
  try {
    const body = Buffer.from(JSON.stringify({ model: id, messages: [{ role: 'user', content: 'hi' }] }))
    await parts.complete(workerCaller, { body, signal: new AbortController().signal })
    return parts.spent(agentScope('scout'), utcDay(systemClock.now())).spentNano
  } finally {
    await parts.close()
    await upstream.close()
  }
}

const provider = (baseUrl: string, local?: boolean) => ({
  openai: {
    kind: 'openai-compatible',
    base_url: baseUrl,
    api_key: 'openai_api_key',
    ...(local === undefined ? {} : { local }),
  },
})

describe('a known name on a server of this machine', () => {
  test('a known name on a server of this machine costs nothing', async () => {
    expect(await costOf({})).toBe(0)
  })

  test("a known name on a server of this machine costs the owner's price where the owner gives one, as a proxy to a paid provider does", async () => {
    const price = { input_per_mtok: 1, output_per_mtok: 2 }
    expect(await costOf({ models: { [id]: { price } } })).toBe(14_000)
    expect(await costOf({ models: { [id]: { price, local: true } } })).toBe(14_000)
  })

  test('a known name on a server of this machine costs what the public list says where the owner says that it is not local', async () => {
    expect(await costOf({ models: { [id]: { local: false } } })).toBe(listedNano)
  })

  test('a known name on a server of this machine is seen as free, and why', async () => {
    const parts = somePath('http://127.0.0.1:9/v1')
    const list = createWatchedModels({ ...parts.deps, clock: systemClock, agentIds: () => ['scout'] })
    const [seen] = list({ kind: 'human', role: 'owner', channel: 'cli' })
    expect(seen).toMatchObject({
      id,
      price: { input_per_mtok: 0, output_per_mtok: 0 },
      free_because: 'this-machine',
    })
    await parts.close()
  })
})

describe('whether a provider is on this machine', () => {
  const isFree = async (baseUrl: string, settings: object = {}): Promise<boolean> => {
    const parts = somePath(baseUrl, settings)
    const model = parts.catalog.find(name)
    await parts.close()
    expect(createPriceList(systemClock)(model).outputNanoPerToken).toBe(model.free ? 0 : 600)
    return model.free
  }

  test.each([
    'http://localhost:4000/v1',
    'http://LOCALHOST/v1',
    'https://127.0.0.1/v1',
    'http://127.255.3.4:1/v1',
    'http://127.1/v1',
    'http://2130706433/v1',
    'http://[::1]:8080/v1',
    'http://[0:0:0:0:0:0:0:1]/v1',
  ])('%s is', async (baseUrl) => {
    expect(await isFree(baseUrl)).toBe(true)
    expect(await isFree(baseUrl, { providers: provider(baseUrl) })).toBe(true)
    expect(await isFree(baseUrl, { providers: provider(baseUrl, false) })).toBe(false)
  })

  test.each([
    'http://127.0.0.1.example/v1',
    'http://localhost.example/v1',
    'http://api.localhost/v1',
    'http://localhost./v1',
    'http://localhost@models.example/v1',
    'http://models.example/v1?at=localhost',
    'http://models.example/127.0.0.1',
    'http://0.0.0.0/v1',
    'http://128.0.0.1/v1',
    'http://10.0.0.1/v1',
    'http://[::ffff:10.0.0.1]/v1',
    'https://api.openai.com/v1',
  ])('%s is not', async (baseUrl) => {
    expect(await isFree(baseUrl)).toBe(false)
    expect(await isFree(baseUrl, { providers: provider(baseUrl, true) })).toBe(true)
  })

  test('whether a provider is on this machine is said for providers of every kind', async () => {
    const anthropic = { provider: 'anthropic', model: 'claude-sonnet-4-5' }
    const free = async (local?: boolean): Promise<boolean> => {
      const kind = { kind: 'anthropic', base_url: 'http://127.0.0.1:9', api_key: 'openai_api_key' }
      const parts = somePath('http://127.0.0.1:9/v1', {
        providers: { anthropic: { ...kind, ...(local === undefined ? {} : { local }) } },
      })
      await parts.close()
      return parts.catalog.find(anthropic).free
    }
    expect(await free()).toBe(true)
    expect(await free(false)).toBe(false)
  })
})

describe.each([
  ['ollama', 'gpt-oss:120b-cloud'],
  ['vllm', 'meta-llama/Llama-3.1-8B-Instruct'],
  ['lmstudio', 'qwen3-8b'],
])('%s', (name, model) => {
  const seen = async (address: string | null, settings: object = {}) => {
    const system = {
      [`${name}_api_key`]: 'k',
      ...(address === null ? {} : { [`${name}_base_url`]: address }),
    }
    const catalog = aModelCatalog({ settings, vault: aVault(system) })
    const found = catalog.find({ provider: name, model })
    await catalog.close()
    return { free: found.freeBecause, price: () => createPriceList(systemClock)(found) }
  }

  test('a model of this provider costs nothing on this machine, wherever there', async () => {
    for (const address of [null, 'http://localhost:7/v1', 'http://127.3.3.3/v1', 'http://[::1]:7/v1'])
      expect((await seen(address)).free).toBe('this-machine')
  })

  test.each(['https://ollama.com/v1', 'http://192.168.1.20:8000/v1', 'http://gpu.lan:8000/v1'])(
    '%s is called only if the owner stated a price or that the server is theirs',
    async (address) => {
      const id = `${name}/${model}`
      const unpriced = await seen(address)
      expect(unpriced.free).toBeNull()
      expect(unpriced.price).toThrow(
        expect.objectContaining({
          code: 'model-unpriced',
          detail: expect.stringMatching(
            /set it with flotilla models price .* --input USD --output USD .*0 for a model of your own/,
          ),
        }),
      )
      expect((await seen(address, { models: { [id]: { local: true } } })).free).toBe('declared')
      const price = { input_per_mtok: 1, output_per_mtok: 2 }
      const priced = await seen(address, { models: { [id]: { price } } })
      expect([priced.free, priced.price().outputNanoPerToken]).toEqual([null, 2000])
      const owned = { [name]: { kind: 'openai-compatible', base_url: address, local: true } }
      expect((await seen(address, { providers: owned })).free).toBe('declared')
    },
  )
})

test('what has no bound is taken where it costs nothing, and refused where the owner has set a price', async () => {
  const media = async (settings: object) => {
    const parts = somePath('http://127.0.0.1:9/v1', settings)
    await parts.close()
    return parts.catalog.find(name).media
  }
  expect(await media({})).toMatchObject({ takesSound: true })
  expect((await media({})).documentTokens).not.toBeNull()
  for (const priced of [
    { price: { input_per_mtok: 1, output_per_mtok: 2 } },
    { price: { input_per_mtok: 1, output_per_mtok: 2 }, local: true },
    { local: false },
  ]) {
    expect(await media({ models: { [id]: priced } })).toMatchObject({
      takesSound: false,
      documentTokens: null,
    })
  }
})
