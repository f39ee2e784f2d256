import { Readable } from 'node:stream'
import type { MeshClient } from '@flotilla/client/mesh-client'
import type { ProviderOffer } from '@flotilla/protocol/setup-api'
import { expect, it } from 'vitest'
import type { CommandContext } from '../context.ts'
import { keepTerminal } from '../fake-terminal.ts'
import { keepProvider } from './keep-provider.ts'

const usual = 'https://api.openai.com/v1'
const openai: ProviderOffer = {
  name: 'openai',
  own_server: false,
  base_url: usual,
  address: null,
  needs_key: true,
  key: 'none',
  ready: false,
  fingerprint: null,
  usual_model: 'openai/gpt-5-mini',
}

/** A mesh whose provider answers, the calls it received, and a person's input. */
function aSetup(input: string, offer: Partial<ProviderOffer> = {}) {
  const bodies: unknown[] = []
  const call = (name: string, options: { body?: { provider: string; model?: string } }) => {
    if (name === 'setup')
      return Promise.resolve({ providers: [{ ...openai, ...offer }], default_model: null })
    bodies.push(options.body)
    return Promise.resolve({ model: `openai/${options.body?.model}` })
  }
  const { terminal } = keepTerminal()
  const context = { terminal, input: Readable.from([input]), signal: new AbortController().signal }
  return { context: context as never as CommandContext, client: { call } as never as MeshClient, bodies }
}

it('a key that is given without an address goes where the provider usually is, and that is said to the mesh', async () => {
  const { context, client, bodies } = aSetup('sk-new\n')
  await keepProvider(context, client, { provider: 'openai', model: 'm', baseUrl: undefined })
  expect(bodies).toEqual([
    { provider: 'openai', model: 'm', key: 'sk-new', base_url: usual, make_default: true },
  ])
})

it.each(['settings', 'environment'] as const)(
  'a key goes to the address that %s fix, which is the only one that the mesh takes, and none may be wanted there',
  async (from) => {
    const address = { url: 'https://models.example/v1', from }
    const wanted = { provider: 'openai', model: 'm', baseUrl: undefined }
    const keyed = aSetup('sk-new\n', { address })
    await keepProvider(keyed.context, keyed.client, wanted)
    const body = { provider: 'openai', model: 'm', base_url: address.url, make_default: true }
    expect(keyed.bodies).toEqual([{ ...body, key: 'sk-new' }])
    const keyless = aSetup('', { address })
    await keepProvider(keyless.context, keyless.client, wanted)
    expect(keyless.bodies).toEqual([body])
  },
)

it('an address that is only kept takes no key that was given without it', async () => {
  const address = { url: 'http://10.0.0.5:8000/v1', from: 'file' } as const
  const { context, client, bodies } = aSetup('sk-new\n', { address })
  await keepProvider(context, client, { provider: 'openai', model: 'm', baseUrl: undefined })
  expect(bodies).toEqual([expect.objectContaining({ key: 'sk-new', base_url: usual })])
})
