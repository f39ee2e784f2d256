import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aModelPath, aVault, workerCaller } from '../../../../../tests/support/model-harness.ts'
import { aModelCatalog } from '../../../../../tests/support/model-catalog.ts'
import { startWebServer } from '../../../../../tests/support/web-server.ts'
import { settingsSchema } from '../../../../foundation/src/config/settings-file.ts'
import { allowedModel } from './allowed-models.ts'
import { createListModels } from './list-models.ts'
import { windowOfModel } from '../catalog/model-window.ts'
import { createOpenAiCompatibleProvider } from '../providers/openai-compatible-provider.ts'
import { modelIsListed, resolveModel } from '../catalog/resolve-model.ts'

function aCatalog(
  settings: object,
  system: Readonly<Record<string, string>>,
  environmentDefaultModel: string | null = null,
) {
  return aModelCatalog({
    settings,
    vault: aVault(system),
    environmentDefaultModel,
    makeScripted: () => createOpenAiCompatibleProvider({ baseUrl: 'http://127.0.0.1:9', apiKey: null }),
  })
}

describe('the list of models', () => {
  test('the list of models names what the agent may use and nothing else, as the official client reads it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'cassettes-'))
    await writeFile(join(folder, 'demo.json'), '{}')
    const settings = {
      agents: { scout: { models: ['groq/llama', 'scripted/*'] } },
      models: { 'groq/other': {} },
    }
    const parts = aModelPath({ settings, cassettes: [folder], agentModel: 'gpt-4o-mini' })
    const listModels = createListModels(parts.deps)
    const web = await startWebServer((_request, response) => {
      void listModels
        .list(workerCaller, 'openai')
        .then((list) => response.setHeader('content-type', 'application/json').end(JSON.stringify(list)))
    })
    const client = new OpenAI({ baseURL: `http://127.0.0.1:${web.port}/v1`, apiKey: 'x', maxRetries: 0 })
    const models = await client.models.list()
    expect(models.data.map((model) => model.id)).toEqual([
      'openai/gpt-4o-mini',
      'groq/llama',
      'scripted/demo',
    ])
    await web.close()
    await parts.close()
  })
})

describe('what an agent may use', () => {
  test.each(['*', 'openai/*', 'groq/*'])(
    "what an agent may use is the owner's list alone where %s is called the agent's own model",
    async (own) => {
      const settings = { agents: { scout: { models: ['groq/llama'] } } }
      const parts = aModelPath({ settings, agentModel: own })
      const allows = (wanted: string) => () => allowedModel(parts.deps, 'scout', wanted)
      for (const wanted of ['openai/o1-pro', 'anthropic/opus', 'groq/other', own]) {
        expect(allows(wanted), wanted).toThrow(expect.objectContaining({ code: 'model-not-allowed' }))
      }
      expect(allows('groq/llama')()).toEqual({ provider: 'groq', model: 'llama' })
      await parts.close()
    },
  )
})

describe("an agent's own model that may search the web by itself", () => {
  const searching = [
    'perplexity/sonar-pro',
    'openrouter/auto',
    'openrouter/openai/gpt-4o@preset/x',
    'openrouter/perplexity/sonar:free',
    'openrouter/openai/gpt-4o: ONLINE',
  ]
  test.each(searching)(
    '%s is nothing that it may use where the owner did not write its name',
    async (own) => {
      const parts = aModelPath({ settings: { agents: { scout: { models: ['*'] } } }, agentModel: own })
      expect(() => allowedModel(parts.deps, 'scout', own)).toThrow(
        expect.objectContaining({
          code: 'model-not-allowed',
          detail: expect.stringContaining('agents.scout.models'),
        }),
      )
      const { data } = z
        .object({ data: z.array(z.object({ id: z.string() })) })
        .parse(await createListModels(parts.deps).list(workerCaller, 'openai'))
      expect(data.map(({ id }) => id)).not.toContain(own)
      await parts.close()
    },
  )

  test.each([
    ['the list of the agent', { agents: { scout: { models: ['perplexity/sonar-pro'] } } }],
    ['the default model', { default_model: 'perplexity/sonar-pro' }],
  ])(
    "an agent's own model that may search the web by itself is allowed where the owner wrote it as %s",
    async (_where, settings) => {
      for (const agentModel of ['perplexity/sonar-pro', 'lab/m']) {
        const parts = aModelPath({ settings, agentModel })
        const wanted = () => allowedModel(parts.deps, 'scout', 'perplexity/sonar-pro')
        if (agentModel === 'lab/m' && 'default_model' in settings) expect(wanted).toThrow('may not use')
        else expect(wanted()).toEqual({ provider: 'perplexity', model: 'sonar-pro' })
        await parts.close()
      }
    },
  )

  test.each(['ollama/qwen3:4b', 'vertex/claude-opus-4@20250514', 'search/m', 'openrouter/m:free'])(
    '%s cannot search the web by itself, and its agent may use it',
    async (own) => {
      const parts = aModelPath({ agentModel: own })
      expect(allowedModel(parts.deps, 'scout', own)).toMatchObject({ provider: own.split('/')[0] })
      await parts.close()
    },
  )
})

describe('the window of a model', () => {
  const settings = settingsSchema.parse({
    models: { 'openai/gpt-4o': { context: 9000 }, 'lab/own': { context: 5 } },
  })

  test.each([
    ['the owner knows best', { provider: 'openai', model: 'gpt-4o' }, 9000],
    ['also of what no list has', { provider: 'lab', model: 'own' }, 5],
    ['a million is a million', { provider: 'openai', model: 'gpt-4.1' }, 1_000_000],
    ['of a newest name', { provider: 'anthropic', model: 'claude-opus-4-1-20250805' }, 200_000],
    ['of what nobody knows', { provider: 'lab', model: 'unheard-of' }, null],
  ])('%s', (_what, name, tokens) => {
    heedsLesson(110)
    expect(windowOfModel(settings, name)).toBe(tokens)
  })

  test('the window of a model is listed with its name', async () => {
    const own = { agents: { scout: { models: ['lab/own'] } }, models: { 'lab/own': { context: 5000 } } }
    const parts = aModelPath({ settings: own, agentModel: 'lab/other' })
    const list = await createListModels(parts.deps).list(workerCaller, 'openai')
    expect(list).toMatchObject({ data: [{ id: 'lab/other' }, { id: 'lab/own', context_length: 5000 }] })
    expect(JSON.stringify(list).match(/context_length/g)).toHaveLength(1)
    await parts.close()
  })
})

describe('the catalog', () => {
  test.each(['*', 'scripted/*'])('the catalog takes %s for no model that an agent can be set to', (name) => {
    expect(() => aCatalog({}, {}).requireUsable(name)).toThrow(
      expect.objectContaining({ code: 'unprocessable' }),
    )
  })

  test('the catalog has openai as soon as its key or its address is set, and says how until then', () => {
    const name = { provider: 'openai', model: 'gpt-4o' }
    expect(() => aCatalog({}, {}).find(name)).toThrow('FLOTILLA_SYSTEM_OPENAI_API_KEY')
    expect(aCatalog({}, { openai_api_key: 'k' }).find(name)).toMatchObject({
      baseUrl: 'https://api.openai.com/v1',
      boundField: 'max_completion_tokens',
    })
    expect(aCatalog({}, { openai_base_url: 'http://127.0.0.1:1/v1' }).find(name)).toMatchObject({
      baseUrl: 'http://127.0.0.1:1/v1',
      boundField: 'max_tokens',
      secrets: [],
    })
    expect(() => aCatalog({}, { openai_base_url: 'localhost' }).find(name)).toThrow('is not an http')
  })

  test('the catalog names the credential that a provider of the settings lacks', () => {
    const settings = {
      providers: { groq: { kind: 'openai-compatible', base_url: 'https://g.test/v1', api_key: 'groq_key' } },
    }
    const name = { provider: 'groq', model: 'm' }
    expect(() => aCatalog(settings, {}).find(name)).toThrow('FLOTILLA_SYSTEM_GROQ_KEY')
    expect(aCatalog(settings, { groq_key: 'k' }).find(name).secrets).toHaveLength(1)
    expect(() => aCatalog(settings, {}).find({ provider: 'constructor', model: 'm' })).toThrow(
      'is not set up',
    )
  })

  test('the catalog takes the default model from the environment before the settings', () => {
    expect(aCatalog({ default_model: 'a/b' }, {}, 'c/d').defaultModel()).toBe('c/d')
    expect(aCatalog({ default_model: 'a/b' }, {}).defaultProvider()).toBe('a')
    expect(aCatalog({}, {}).defaultModel()).toBeNull()
    expect(aCatalog({}, {}).defaultProvider()).toBe('openai')
  })

  test('an OpenAI key alone is enough to have a default model, a base URL is not', () => {
    expect(aCatalog({}, { openai_api_key: 'k' }).defaultModel()).toBe('openai/gpt-5-mini')
    expect(
      aCatalog({}, { openai_api_key: 'k', openai_base_url: 'http://127.0.0.1:1/v1' }).defaultModel(),
    ).toBeNull()
  })

  test('the catalog keeps one provider per setup and makes another when the setup changes', () => {
    const settings = { providers: { a: { kind: 'openai-compatible', base_url: 'https://one.test/v1' } } }
    const catalog = aCatalog(settings, {})
    const first = catalog.find({ provider: 'a', model: 'm' }).llm
    expect(catalog.find({ provider: 'a', model: 'n' }).llm).toBe(first)
    settings.providers.a.base_url = 'https://two.test/v1'
    expect(catalog.find({ provider: 'a', model: 'm' }).llm).not.toBe(first)
  })
})

describe('the name of a model', () => {
  test.each([
    ['openai/gpt-4o', { provider: 'openai', model: 'gpt-4o' }],
    ['gpt-4o', { provider: 'standard', model: 'gpt-4o' }],
    ['a/b/c', { provider: 'a', model: 'b/c' }],
    ['/b', null],
    ['a/', null],
    ['', null],
  ])('%j is read as %j', (text, expected) => {
    expect(resolveModel(text, 'standard')).toEqual(expected)
  })

  test('the name of a model is allowed by its own entry, by its provider and by a star', () => {
    const wanted = { provider: 'a', model: 'm' }
    const allows = (entry: string) => modelIsListed([entry], wanted, 'a')
    expect(['a/m', 'm', 'a/*', '*'].every(allows)).toBe(true)
    expect(['a/mm', 'b/m', 'b/*', 'a', ''].some(allows)).toBe(false)
  })
})
