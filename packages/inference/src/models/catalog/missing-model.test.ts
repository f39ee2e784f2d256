import { describe, expect, it } from 'vitest'
import { createMissingModel } from './missing-model.ts'

function told(known: {
  readonly system?: readonly string[]
  readonly file?: Readonly<Record<string, string>>
  readonly providers?: readonly string[]
}): Promise<string> {
  const providers = Object.fromEntries((known.providers ?? []).map((name) => [name, { kind: 'anthropic' }]))
  return createMissingModel({
    settings: () => ({ providers }) as never, // the kinds of providers do not matter here
    vault: { names: () => ({ system: known.system ?? [], agent: [] }) },
    readFile: async () => new Map(Object.entries(known.file ?? {})),
  })()
}

describe('what an owner is told where no model is set', () => {
  it('the advice to an owner without a model is to write a key, and when it is read', async () => {
    const words = await told({})
    expect(words).toContain('FLOTILLA_SYSTEM_OPENAI_API_KEY=')
    expect(words).toContain('flotilla stop, then flotilla start -d')
  })

  it('the advice to an owner without a model is to name a model where a key or an address is there, and never to write that key', async () => {
    for (const known of [
      { system: ['groq_api_key'] },
      { system: ['openai_base_url'] },
      { providers: ['own'] },
    ]) {
      const words = await told(known)
      expect(words).toMatch(/FLOTILLA_DEFAULT_MODEL=(?:groq|openai|own)\/MODEL/)
      expect(words).not.toContain('API_KEY')
    }
  })

  it('the advice to an owner without a model is to start again where .env says it already and this mesh has not read it', async () => {
    const files: readonly Record<string, string>[] = [
      { FLOTILLA_SYSTEM_OPENAI_API_KEY: 'sk-1' },
      { FLOTILLA_DEFAULT_MODEL: 'openai/gpt-5-mini' },
    ]
    for (const file of files) {
      expect(await told({ file })).toBe(
        '.env in the home was changed since the mesh started; the mesh reads it at the next start (flotilla stop, then flotilla start -d)',
      )
    }
    const read = { system: ['openai_api_key'], file: { FLOTILLA_SYSTEM_OPENAI_API_KEY: 'sk-1' } }
    expect(await told(read)).toContain('FLOTILLA_DEFAULT_MODEL=openai/MODEL')
  })
})
