import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../identity/src/access/index.ts'
import { isFirstProvider, isUsual, providerCandidate } from './provider-candidate.ts'
import { defaultLocked } from './setup-context.ts'
import type { SetupContext } from './setup-context.ts'

const owner: Caller = { kind: 'human', origin: 'cli' } as never
const address = 'https://models.example/v1'

/** A home in which `sources` gives the source of each credential, and a stored key belongs to `keptFor`. */
function aContext({
  sources = {},
  providers = {},
  keptFor = null,
  preset = null,
}: {
  readonly sources?: Readonly<Record<string, 'file' | 'environment'>>
  readonly providers?: object
  readonly keptFor?: string | null
  readonly preset?: string | null
} = {}): SetupContext {
  return {
    settings: () => ({ providers }),
    vault: { systemSourceOf: (name: string) => sources[name] ?? null },
    tryProvider: { addressOf: () => keptFor },
    catalog: { preset: () => preset && { name: preset } },
    places: [{ name: 'ollama', title: 'Ollama', place: '127.0.0.1:11434' }],
  } as never
}

describe('what may be tried of a provider', () => {
  test.each([
    ['an unknown provider', { provider: 'nobody' }, /there is no provider/],
    ['a key of two lines', { provider: 'openai', key: 'a\nb' }, /one line of text/],
    ['an empty key', { provider: 'openai', key: '  ' }, /one line of text/],
    [
      'an address with a password',
      { provider: 'openai', key: 'k', base_url: 'http://u:p@127.0.0.1:11434' },
      /no user name, password/,
    ],
  ])('what may be tried of a provider is not %s', (_what, input, detail) => {
    expect(() => providerCandidate(aContext(), owner, input)).toThrow(
      expect.objectContaining({ code: 'unprocessable', detail: expect.stringMatching(detail) }),
    )
  })

  test('what may be tried of a provider is nothing that the environment of the mesh decides', () => {
    const context = aContext({ sources: { openai_api_key: 'environment' } })
    expect(() => providerCandidate(context, owner, { provider: 'openai', key: 'k' })).toThrow(
      expect.objectContaining({ code: 'conflict' }),
    )
  })

  test('what may be tried of a provider is no other address for a key that is kept', () => {
    const context = aContext({ sources: { openai_api_key: 'file' }, keptFor: 'https://api.openai.com/v1' })
    const input = { provider: 'openai', base_url: 'http://127.0.0.1:11434/v1' }
    expect(() => providerCandidate(context, owner, input)).toThrow(
      expect.objectContaining({ detail: 'the stored key of openai belongs to api.openai.com' }),
    )
    expect(providerCandidate(context, owner, { ...input, key: ' k ' })).toEqual({
      provider: 'openai',
      key: 'k',
      baseUrl: input.base_url,
    })
  })
})

test('a new key goes to an address that is kept only where that is given with it', () => {
  const own = 'http://10.0.0.5:8000/v1'
  const context = aContext({ sources: { openai_base_url: 'file' }, keptFor: own })
  expect(() => providerCandidate(context, owner, { provider: 'openai', key: 'k' })).toThrow(
    expect.objectContaining({
      code: 'unprocessable',
      detail: expect.stringContaining('openai is set to 10.0.0.5:8000'),
      repair: expect.stringContaining('https://api.openai.com/v1'),
    }),
  )
  for (const base_url of [own, 'https://api.openai.com/v1']) {
    const named = providerCandidate(context, owner, { provider: 'openai', key: 'k', base_url })
    expect(named.baseUrl).toBe(base_url)
  }
  // A local model server must not receive a key of the provider either.
  const local = aContext({ sources: { openai_base_url: 'file' }, keptFor: 'http://127.0.0.1:11434/v1' })
  expect(() => providerCandidate(local, owner, { provider: 'openai', key: 'k' })).toThrow(
    /127\.0\.0\.1:11434/,
  )
  const usual = aContext({ keptFor: 'https://api.openai.com/v1' })
  expect(providerCandidate(usual, owner, { provider: 'openai', key: 'k' }).baseUrl).toBeNull()
  // Without a new key, the stored provider and key are used.
  expect(providerCandidate(context, owner, { provider: 'openai' }).baseUrl).toBeNull()
})

describe('an address that settings or the environment fix', () => {
  const old = 'http://old.example/v1'
  const fixed = {
    settings: { providers: { openai: { kind: 'openai-compatible', base_url: old } }, keptFor: old },
    environment: { sources: { openai_base_url: 'environment' }, keptFor: old },
  } as const

  test.each([
    ['settings', /config\/settings\.json sets the address of openai \(http:\/\/old\.example\/v1\)/],
    ['environment', /FLOTILLA_SYSTEM_OPENAI_BASE_URL is set in the environment/],
  ] as const)(
    'an address of %s that settings or the environment fix is the only one that may be given',
    (where, detail) => {
      const context = aContext(fixed[where])
      for (const base_url of ['http://10.0.0.9:8000/v1', 'https://api.openai.com/v1'])
        expect(() => providerCandidate(context, owner, { provider: 'openai', key: 'k', base_url })).toThrow(
          expect.objectContaining({ code: 'conflict', detail: expect.stringMatching(detail) }),
        )
      // It stays where it is written and is not stored a second time.
      const named = { provider: 'openai', key: 'k', base_url: `${old}/` }
      expect(providerCandidate(context, owner, named).baseUrl).toBeNull()
    },
  )
})

test('an address is usual where the provider or a server of this machine is, whatever its path', () => {
  const { places } = aContext()
  expect(isUsual(places, 'openai', 'https://api.openai.com/other')).toBe(true)
  expect(isUsual(places, 'openai', 'http://127.0.0.1:11434')).toBe(true)
  expect(isUsual(places, 'openai', address)).toBe(false)
})

test('a provider is the first while nothing thinks but the recording and nothing is kept of it', () => {
  const input = { provider: 'openai' }
  expect(isFirstProvider(aContext(), input)).toBe(true)
  expect(isFirstProvider(aContext({ preset: 'scripted/first-look' }), input)).toBe(true)
  expect(isFirstProvider(aContext({ preset: 'openai/x' }), input)).toBe(false)
  expect(isFirstProvider(aContext({ sources: { openai_api_key: 'file' } }), input)).toBe(false)
  expect(isFirstProvider(aContext(), { ...input, base_url: address })).toBe(false)
})

test('the default model is locked where the environment names one, and by what', () => {
  expect(defaultLocked({ defaultModel: null, defaultModelFrom: null } as never)).toBeNull()
  expect(defaultLocked({ defaultModel: 'a/b', defaultModelFrom: '.env' } as never)).toMatch(
    /in \.env of the home sets the default model a\/b/,
  )
})
