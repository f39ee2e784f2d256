import type { MeshClient } from '@flotilla/client/mesh-client'
import type { LocalServer, ProviderOffer } from '@flotilla/protocol/setup-api'
import type { CommandContext } from '../context.ts'
import { askLine, isInterrupted } from '../terminal/ask-line.ts'
import { oneLine } from '../terminal/color.ts'
import { formatError } from '../terminal/format-error.ts'
import { askForServer } from './ask-for-server.ts'
import { chooseDemo } from './choose-demo.ts'
import { keepProvider, namedOffer, withoutProvider } from './keep-provider.ts'
import type { ModelChoice } from './model-choice.ts'
import { askAddress } from './provider-address.ts'
import { shownModels } from './shown-models.ts'

const nameColumnsMax = 60
/** After this many wrong answers to one question, the setup is skipped. */
const triesMax = 3

/** Asks the person at the terminal for the model of agents. Call it only with an interactive terminal. */
export async function askForModel(
  context: CommandContext,
  client: MeshClient,
  {
    asks = true,
  }: { /** Before a recording takes the place of a model that works. */ readonly asks?: boolean } = {},
): Promise<ModelChoice> {
  const { terminal, signal } = context
  terminal.progress.step('Looking for model servers on this machine')
  const [{ providers, default_model: current }, { servers }] = await Promise.all([
    client.call('setup', { signal }),
    client.call('setupLocal', { signal }),
  ])
  terminal.progress.done()
  const later: ModelChoice = { kind: 'later', standing: current?.name ?? null }
  const found = servers.filter(({ state }) => state === 'found')
  const offers = [
    ...found.map((server) => ({
      words: `${server.title} on this machine, with ${modelsWords(server.models)}`,
      take: () => keepLocal(context, client, server),
    })),
    { words: 'A provider, with your key', take: () => askForProvider(context, client, providers) },
    {
      words: 'Your own server with an OpenAI-compatible API',
      take: () => askForServer(context, client, providers),
    },
    { words: 'A recorded demo, without a key', take: () => chooseDemo(context, client, { asks }) },
    {
      words: current === null ? 'Later' : `No change: ${oneLine(current.name, nameColumnsMax)}, as before`,
      take: () => Promise.resolve(later),
    },
  ]
  terminal.note(
    '',
    'Which model shall agents use?',
    ...offers.map(({ words: label }, at) => `  ${at + 1}  ${label}`),
  )
  for (let tries = 0; tries < triesMax; tries++) {
    const typed = await askLine(context, `Number [1]: `)
    const offer = offers[typed === '' ? 0 : Number(typed) - 1]
    if (offer === undefined) {
      terminal.note(`Type a number from 1 to ${offers.length}.`)
      continue
    }
    try {
      return await offer.take()
    } catch (error) {
      signal.throwIfAborted()
      if (isInterrupted(error)) throw error
      // Prints the provider's error, and offers the choice again, because another answer may work.
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
  // Checked first, so that no question is asked about a provider that does not exist.
  const offer = namedOffer(providers, provider)
  const { base_url: place, usual_model: usual } = offer
  const baseUrl = offer.address === null ? (place ?? undefined) : await askAddress(context, offer, place)
  const typedModel = await askLine(context, usual ? `Model [${usual}]: ` : 'Model: ')
  const model = typedModel === '' ? undefined : withoutProvider(typedModel, provider)
  return keepProvider(context, client, { provider, model, baseUrl, anew: true })
}
