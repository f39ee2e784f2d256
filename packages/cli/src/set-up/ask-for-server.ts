import type { MeshClient } from '@flotilla/client/mesh-client'
import type { ProviderOffer } from '@flotilla/protocol/setup-api'
import { CommandFailed } from '../command-failed.ts'
import type { CommandContext } from '../context.ts'
import { askLine } from '../terminal/ask-line.ts'
import { oneLine } from '../terminal/color.ts'
import { formatError } from '../terminal/format-error.ts'
import { keepProvider, namedOffer } from './keep-provider.ts'
import type { ModelChoice } from './model-choice.ts'
import { askAddress } from './provider-address.ts'

const nameColumnsMax = 60

/** Any server with an OpenAI-compatible API is stored as this provider, in place of OpenAI itself. */
const ownServer = 'openai'

/** Asks for a server on another machine, or for another key, model or address of the configured one. */
export async function askForServer(
  context: CommandContext,
  client: MeshClient,
  providers: readonly ProviderOffer[],
): Promise<ModelChoice> {
  const offer = namedOffer(providers, ownServer)
  if (offer.key !== 'none' && offer.address === null) {
    throw new CommandFailed('conflict', {
      detail: `A key of ${ownServer} is stored here, and your own server would replace it.`,
      repair: 'Write the server under providers in config/settings.json; docs/guide/models.md shows how.',
    })
  }
  const baseUrl = await askAddress(context, offer, offer.address?.url ?? null)
  const model = await askLine(context, 'Model name on the server: ')
  if (model === '') {
    throw new CommandFailed('no-model', {
      detail: 'Your own server has no default model.',
      repair: `Name one of its models; ${baseUrl.replace(/\/$/, '')}/models lists them.`,
    })
  }
  const choice = await keepProvider(context, client, { provider: ownServer, model, baseUrl, anew: true })
  await printUnpriced(context, client, `${ownServer}/${model}`)
  return choice
}

/**
 * The provider answered, but agents may still be denied the model because its price is not set. Everything is saved
 * by then, so a failure here is only reported and does not undo the choice.
 */
export async function printUnpriced(
  { terminal, signal }: Pick<CommandContext, 'terminal' | 'signal'>,
  client: Pick<MeshClient, 'call'>,
  id: string,
): Promise<void> {
  const shown = oneLine(id, nameColumnsMax)
  try {
    const { models } = await client.call('models', { signal })
    const problem = models.find((one) => one.id === id)?.problem ?? null
    if (problem !== null) terminal.note(`The model ${shown} cannot be called yet: ${problem}.`)
  } catch (error) {
    signal.throwIfAborted()
    terminal.note(`${shown} is saved. Failed to check whether its price is known:`)
    terminal.tell(formatError(error))
  }
}
