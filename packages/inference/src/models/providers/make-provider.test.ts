import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { WireKind } from '../../../../../tests/support/model-wires.ts'
import { startWireUpstream } from '../../../../../tests/support/wire-upstream.ts'
import { expect, test } from 'vitest'
import { randomId, systemClock } from '../../../../foundation/src/platform/system-clock.ts'
import { createSecret } from '../../../../egress/src/credentials/secret.ts'
import { describeLlmProvider } from '../llm-provider.conformance.ts'
import { createMakeProvider } from './make-provider.ts'
import type { ProviderSetup } from './provider-setup.ts'
import { createScriptedProvider } from './scripted-provider.ts'

const apiKey = createSecret('key', 'sk-upstream-key-0123456789')
const cassette = {
  version: 1,
  tracks: [
    { when: '^wait$', turns: [{ content: 'at last', delay_ms: 60_000 }] },
    { turns: [{ content: 'Hello there' }] },
  ],
}

/** Creates a provider from settings, as the mesh does, in every format that it can have. */
function made(setup: ProviderSetup, folders: readonly string[] = []) {
  return createMakeProvider({
    clock: systemClock,
    newId: randomId,
    makeScripted: (config) =>
      createScriptedProvider({ ...config, folders, clock: systemClock, newId: randomId }),
  })(setup)
}

describeLlmProvider(
  'the scripted fake, as it is made,',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'cassettes-'))
    await writeFile(join(folder, 'hello.json'), JSON.stringify(cassette))
    const provider = made({ kind: 'scripted', cassette: null }, [folder])
    return { provider, model: 'hello', close: () => provider.close() }
  },
  ['chat', 'messages'],
)

interface Real {
  readonly wire: WireKind
  readonly model: string
  readonly setup: (baseUrl: string) => ProviderSetup
}

const reals: readonly Real[] = [
  {
    wire: 'openai',
    model: 'gpt-4o',
    setup: (baseUrl) => ({
      kind: 'openai-compatible',
      baseUrl,
      apiKey,
      local: false,
      extras: {},
      usage: {},
    }),
  },
  {
    wire: 'anthropic',
    model: 'claude-haiku-4-5',
    setup: (baseUrl) => ({ kind: 'anthropic', baseUrl, apiKey, local: null }),
  },
  {
    wire: 'google',
    model: 'gemini-2.5-flash',
    setup: (baseUrl) => ({ kind: 'google', baseUrl, apiKey, local: null }),
  },
]

for (const { wire, model, setup } of reals) {
  describeLlmProvider(
    `the provider behind the wire of ${wire}, as it is made,`,
    async () => {
      const upstream = await startWireUpstream(wire)
      const provider = made(setup(upstream.baseUrl))
      return {
        provider,
        model,
        close: async () => {
          await provider.close()
          await upstream.close()
        },
      }
    },
    ['chat', 'messages'],
  )
}

test.each([
  ['google', 512],
  ['azure', 128],
] as const)(
  'a translated call with more tools than %s accepts is refused before it is sent',
  async (kind, max) => {
    const upstream = await startWireUpstream(kind === 'azure' ? 'openai' : 'google')
    const provider = made({ kind, baseUrl: upstream.baseUrl, apiKey, local: null })
    const tools = Array.from({ length: max + 1 }, (_none, index) => ({
      name: `t${index}`,
      input_schema: { type: 'object' },
    }))
    const parameters = { max_tokens: 10, messages: [{ role: 'user', content: 'hi' }], tools }
    const asked = provider.complete(
      {
        form: 'messages',
        agentId: 'scout',
        model: 'm',
        stream: false,
        parameters,
        body: JSON.stringify({ model: 'm', ...parameters }),
      },
      { signal: new AbortController().signal },
    )
    await expect(asked).rejects.toMatchObject({
      code: 'bad-request',
      detail: expect.stringContaining(`at most ${max} tools`),
    })
    expect(upstream.calls).toHaveLength(0)
    await provider.close()
    await upstream.close()
  },
)
