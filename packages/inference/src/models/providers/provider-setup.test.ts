import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../../tests/verifies.ts'
import { aVault } from '../../../../../tests/support/model-harness.ts'
import { aModelCatalog } from '../../../../../tests/support/model-catalog.ts'
import { settingsSchema } from '../../../../foundation/src/config/settings-file.ts'
import { systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { priceOf } from '../catalog/model-prices.ts'
import { providerPresets } from './provider-presets.ts'
import { setupOf } from './provider-setup.ts'

function sourcesOf(system: Readonly<Record<string, string>>, settings: object = {}) {
  const vault = aVault(system)
  return { settings: () => settingsSchema.parse(settings), system: (name: string) => vault.system(name) }
}

const aCatalog = (system: Readonly<Record<string, string>>, settings: object = {}) =>
  aModelCatalog({ settings, vault: aVault(system) })

describe('a known provider', () => {
  test.each(Object.entries(providerPresets).filter(([, preset]) => preset.baseUrl !== null))(
    '%s is set up by its key alone, at its own address',
    (name, preset) => {
      expect(setupOf(sourcesOf({ [`${name}_api_key`]: 'k' }), name)).toMatchObject({
        kind: preset.kind,
        baseUrl: preset.baseUrl,
        apiKey: { name: `${name}_api_key` },
      })
      expect(setupOf(sourcesOf({ [`${name}_base_url`]: 'http://127.0.0.1:9/v1' }), name)).toMatchObject({
        baseUrl: 'http://127.0.0.1:9/v1',
        apiKey: null,
      })
      if (preset.needsNoKey !== true)
        expect(() => setupOf(sourcesOf({}), name)).toThrow(`_${name.toUpperCase()}_API_KEY`)
    },
  )

  test('bedrock wants a region and a key or a pair of them', () => {
    expect(() => setupOf(sourcesOf({ bedrock_api_key: 'k' }), 'bedrock')).toThrow('BEDROCK_REGION')
    expect(() => setupOf(sourcesOf({ bedrock_region: 'us-east-1' }), 'bedrock')).toThrow(
      'BEDROCK_ACCESS_KEY_ID',
    )
    expect(() => setupOf(sourcesOf({ bedrock_region: 'x.evil/', bedrock_api_key: 'k' }), 'bedrock')).toThrow(
      'REGION',
    )
    expect(
      setupOf(sourcesOf({ bedrock_region: 'eu-central-1', bedrock_api_key: 'k' }), 'bedrock'),
    ).toMatchObject({
      baseUrl: 'https://bedrock-runtime.eu-central-1.amazonaws.com',
    })
  })

  test('azure wants a resource or an address', () => {
    expect(() => setupOf(sourcesOf({ azure_api_key: 'k' }), 'azure')).toThrow('AZURE_RESOURCE_NAME')
    const settings = {
      providers: { 'azure-eu': { kind: 'azure', resource_name: 'mine', api_key: 'my_key' } },
    }
    expect(setupOf(sourcesOf({ my_key: 'k' }, settings), 'azure-eu')).toMatchObject({
      kind: 'azure',
      baseUrl: 'https://mine.openai.azure.com/openai',
      apiKey: { name: 'my_key' },
    })
  })

  test('the first known provider with a key gives the default model, which has a price', () => {
    for (const [name, preset] of Object.entries(providerPresets)) {
      if (preset.usualModel === undefined) continue
      const catalog = aCatalog({ [`${name}_api_key`]: 'k' })
      expect(catalog.defaultModel()).toBe(preset.usualModel)
      const model = catalog.find({ provider: name, model: preset.usualModel.slice(name.length + 1) })
      expect(priceOf(model, systemClock.now()).outputNanoPerToken).toBeGreaterThan(0)
    }
    expect(aCatalog({ google_api_key: 'k', openai_api_key: 'k' }).defaultModel()).toMatch(/^openai\//)
  })
})

describe('a model', () => {
  test('a model whose provider has no key is rejected with the list of those that have one', () => {
    heedsLesson(131)
    const catalog = aCatalog({ anthropic_api_key: 'k', groq_api_key: 'k' })
    expect(() => catalog.requireUsable('anthropic/claude-sonnet-5')).not.toThrow()
    expect(() => catalog.requireUsable('google/gemini-2.5-pro')).toThrow(
      /FLOTILLA_SYSTEM_GOOGLE_API_KEY.*that are set up: anthropic, groq/,
    )
    expect(() => aCatalog({}).requireUsable('nobody/x')).toThrow('none yet')
  })

  test('a model is found anew when its key is changed, and its secrets are the keys alone', () => {
    const system: Record<string, string> = { bedrock_region: 'us-east-1', bedrock_api_key: 'first' }
    let vault = aVault(system)
    const catalog = aModelCatalog({ vault: { ...vault, system: (name) => vault.system(name) } })
    const name = { provider: 'bedrock', model: 'm' }
    const first = catalog.find(name)
    vault = aVault({ ...system, bedrock_api_key: 'second' })
    const second = catalog.find(name)
    expect(second.llm).not.toBe(first.llm)
    expect(second.secrets.map((secret) => secret.reveal())).toEqual(['second'])
    expect(catalog.find(name).llm).toBe(second.llm)
  })
})
