import type { MeshClient } from '@flotilla/client/mesh-client'
import type { LocalServer, ProviderOffer } from '@flotilla/protocol/setup-api'
import { Problem } from '@flotilla/protocol/problem'
import { CommandFailed } from '../command-failed.ts'
import type { CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { askLine, isInterrupted } from '../terminal/ask-line.ts'
import { oneLine } from '../terminal/color.ts'
import { formatError } from '../terminal/format-error.ts'
import { askHidden, readAll, readSecret } from '../terminal/read-secret.ts'
import { chooseDemo } from './choose-demo.ts'
import type { DemoChoice } from './choose-demo.ts'
import { noModelNotice } from './no-model-notice.ts'

/** What was decided on: a model that has answered, the recorded demo with what to ask it, or nothing yet. */
export type ModelChoice =
  | { readonly kind: 'model'; readonly model: string }
  | DemoChoice
  /** What agents think with until then, or null. */
  | { readonly kind: 'later'; readonly standing: string | null }

export interface WantedModel {
  readonly provider: string
  /** As its provider calls it. */
  readonly model: string | undefined
  readonly baseUrl: string | undefined
}

const nameColumnsMax = 60
/** Wrong answers to one question; then it is left for later. */
const triesMax = 3

/**
 * Keeps a provider that was named, once it has answered; its key comes from standard input or is asked for unseen, and
 * anew where the provider does not take it. A server at an address of one's own may want none. Where no address was named,
 * a new key goes where the provider usually is, whatever address is kept.
 */
export async function keepProvider(
  context: CommandContext,
  client: MeshClient,
  wanted: WantedModel,
): Promise<ModelChoice> {
  const { providers } = await client.call('setup', { signal: context.signal })
  const offer = namedOffer(providers, wanted.provider)
  if (!offer.needs_key || offer.key !== 'none') return tryAndKeep(context, client, wanted)
  const placed = { ...wanted, baseUrl: wanted.baseUrl ?? offer.base_url ?? undefined }
  for (let tried = 1; ; tried++) {
    const key = await askKey(context, placed, offer)
    try {
      return await tryAndKeep(context, client, key === '' ? placed : { ...placed, key })
    } catch (error) {
      if (context.input.isTTY !== true || tried === triesMax || !isRefusedKey(error)) throw error
      context.terminal.tell(formatError(error))
    }
  }
}

async function tryAndKeep(
  { terminal, signal }: CommandContext,
  client: MeshClient,
  { provider, model, baseUrl, key }: WantedModel & { readonly key?: string },
): Promise<ModelChoice> {
  terminal.progress.step(`Asking ${provider} for one word`)
  const kept = await client
    .call('setupProvider', {
      body: {
        provider,
        make_default: true,
        ...(key === undefined ? {} : { key }),
        ...(model === undefined ? {} : { model }),
        ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
      },
      signal,
    })
    .catch((error: unknown) => {
      terminal.progress.fail()
      throw error
    })
  terminal.progress.done()
  return { kind: 'model', model: kept.model }
}

/** Another one may be right; of a model or an address that is wrong no key is the matter. */
const isRefusedKey = (error: unknown): boolean =>
  error instanceof Problem && error.code === 'provider-refused'

function namedOffer(providers: readonly ProviderOffer[], wanted: string): ProviderOffer {
  const offer = providers.find(({ name }) => name === wanted)
  if (offer !== undefined) return offer
  throw new CommandFailed('unknown-provider', {
    detail: `There is no provider “${oneLine(wanted, nameColumnsMax)}”.`,
    repair: `Name one of ${providers.map(({ name }) => name).join(', ')}.`,
    exitCode: exitCodes.usage,
  })
}

/** Empty for none, which only an address of one's own may want. The question says where the key goes. */
async function askKey(
  context: CommandContext,
  { provider, baseUrl }: WantedModel,
  offer: ProviderOffer,
): Promise<string> {
  const place = placeOf(baseUrl)
  const whose = place?.host ?? provider
  if (place === null || place.origin === placeOf(offer.base_url)?.origin)
    return (await readSecret(context, `Key of ${whose} (not shown): `)).trim()
  const isTyped = context.input.isTTY === true
  const question = `Key of ${whose} (not shown, Enter for none): `
  return (isTyped ? await askHidden(context, question) : await readAll(context.input)).trim()
}

const placeOf = (address: string | null | undefined): URL | null =>
  address != null && URL.canParse(address) ? new URL(address) : null

export const withoutProvider = (model: string, provider: string): string =>
  model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model

/** Asks the person at the terminal what agents shall think with. To be called only where somebody sits there. */
export async function askForModel(context: CommandContext, client: MeshClient): Promise<ModelChoice> {
  const { terminal, signal } = context
  terminal.progress.step('Looking for model servers on this machine')
  const [{ providers, default_model: standing }, { servers }] = await Promise.all([
    client.call('setup', { signal }),
    client.call('setupLocal', { signal }),
  ])
  terminal.progress.done()
  const later: ModelChoice = { kind: 'later', standing: standing?.name ?? null }
  const found = servers.filter(({ state }) => state === 'found')
  const offers = [
    ...found.map((server) => ({
      words: `${server.title} on this machine, with ${modelsWords(server.models)}`,
      take: () => keepLocal(context, client, server),
    })),
    { words: 'A provider with a key of yours', take: () => askForProvider(context, client, providers) },
    {
      words: 'A server of your own that speaks OpenAI’s language',
      take: () => askForServer(context, client, providers),
    },
    { words: 'A recorded demo, without a key', take: () => chooseDemo(context, client, { asks: true }) },
    {
      words:
        standing === null ? 'Later' : `Nothing else: ${oneLine(standing.name, nameColumnsMax)}, as before`,
      take: () => Promise.resolve(later),
    },
  ]
  terminal.note(
    '',
    'What shall agents think with?',
    ...offers.map(({ words }, at) => `  ${at + 1}  ${words}`),
  )
  for (let tries = 0; tries < triesMax; tries++) {
    const typed = await askLine(context, `Number [1]: `)
    const offer = offers[typed === '' ? 0 : Number(typed) - 1]
    if (offer === undefined) {
      terminal.note(`A number from 1 to ${offers.length}.`)
      continue
    }
    try {
      return await offer.take()
    } catch (error) {
      signal.throwIfAborted()
      if (isInterrupted(error)) throw error
      // The provider's own words: the next try may be better.
      terminal.tell(formatError(error))
    }
  }
  return later
}

async function keepLocal(
  context: CommandContext,
  client: MeshClient,
  server: LocalServer,
): Promise<ModelChoice> {
  const { models } = server
  const typed =
    models.length === 1 ? '' : await askLine(context, `Model [${models[0]}] of ${shownModels(models)}: `)
  const model = typed === '' ? models[0] : typed
  return keepProvider(context, client, { provider: server.name, model, baseUrl: server.base_url })
}

/** Models of a server that are named at once. */
const modelsShown = 6

function shownModels(models: readonly string[]): string {
  const names = models.slice(0, modelsShown).map((name) => oneLine(name, nameColumnsMax))
  return [...names, ...(models.length > modelsShown ? [`${models.length - modelsShown} more`] : [])].join(
    ', ',
  )
}

const modelsWords = (models: readonly string[]): string =>
  models.length === 1 ? shownModels(models) : `${models.length} models`

async function askForProvider(
  context: CommandContext,
  client: MeshClient,
  providers: readonly ProviderOffer[],
): Promise<ModelChoice> {
  const names = providers.filter(({ needs_key: needsKey }) => needsKey).map(({ name }) => name)
  const [first = ''] = names
  context.terminal.note(`Providers: ${names.join(', ')}`)
  const typed = await askLine(context, `Provider [${first}]: `)
  const provider = typed === '' ? first : typed
  // Before anything else is asked about one that is not there.
  const { usual_model: usual } = namedOffer(providers, provider)
  const model = await askLine(context, usual ? `Model [${usual}]: ` : 'Model: ')
  return keepProvider(context, client, {
    provider,
    model: model === '' ? undefined : withoutProvider(model, provider),
    baseUrl: undefined,
  })
}

/** Takes whatever speaks OpenAI's language under that provider's name, in whose place it is then. */
const ownServer = 'openai'

async function askForServer(
  context: CommandContext,
  client: MeshClient,
  providers: readonly ProviderOffer[],
): Promise<ModelChoice> {
  if (namedOffer(providers, ownServer).key !== 'none') {
    throw new CommandFailed('conflict', {
      detail: `A key of ${ownServer} is kept here, and a server of your own would take its place.`,
      repair: 'Write the server under providers in config/settings.json; docs/guide/models.md shows how.',
    })
  }
  const baseUrl = await askLine(context, 'Address, such as http://10.0.0.5:8000/v1: ')
  if (!URL.canParse(baseUrl)) {
    throw new CommandFailed('bad-address', {
      detail: `“${oneLine(baseUrl, nameColumnsMax)}” is no address.`,
      repair: 'Give it whole: http:// or https://, the host, its port, and mostly /v1.',
    })
  }
  const model = await askLine(context, 'Model, as the server calls it: ')
  if (model === '') {
    throw new CommandFailed('no-model', {
      detail: 'A server of your own has no usual model.',
      repair: `Name one that it has; ${baseUrl.replace(/\/$/, '')}/models lists them.`,
    })
  }
  const choice = await keepProvider(context, client, { provider: ownServer, model, baseUrl })
  await tellUnpriced(context, client, `${ownServer}/${model}`)
  return choice
}

/** It has answered, and agents may be refused it all the same: nobody has said yet what it costs. */
async function tellUnpriced(
  { terminal, signal }: CommandContext,
  client: MeshClient,
  id: string,
): Promise<void> {
  const { models } = await client.call('models', { signal })
  const problem = models.find((one) => one.id === id)?.problem ?? null
  if (problem !== null) terminal.note(`${oneLine(id, nameColumnsMax)} cannot be called yet: ${problem}.`)
}

/** What was chosen, and what comes next, as lines. Pure. */
export function choiceLines(choice: ModelChoice): string[] {
  if (choice.kind === 'model') return [`Agents think with ${choice.model}; it has answered.`]
  if (choice.kind === 'later')
    return [choice.standing === null ? noModelNotice : `Agents think with ${choice.standing}, as before.`]
  return [
    'A recording thinks for the fleet; every call of a tool is real. Ask it what it knows:',
    `  flotilla chat ${choice.agent} "${choice.question}"`,
  ]
}
