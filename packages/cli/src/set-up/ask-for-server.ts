import type { MeshClient } from '@flotilla/client/mesh-client'
import type { ProviderOffer } from '@flotilla/protocol/setup-api'
import { CommandFailed } from '../command-failed.ts'
import type { CommandContext } from '../context.ts'
import { askLine } from '../terminal/ask-line.ts'
import { oneLine } from '../terminal/color.ts'
import { formatError } from '../terminal/format-error.ts'
import { keepProvider } from './keep-provider.ts'
import type { ModelChoice } from './model-choice.ts'
import { requireWebAddress } from './provider-address.ts'
import { shownModels } from './shown-models.ts'

const nameColumnsMax = 60

/** The name of an own server if the person enters none. */
const usualName = 'my-server'

/** Asks for a server on another machine, or for another key, model or address of one that was added before. */
export async function askForServer(
  context: CommandContext,
  client: MeshClient,
  providers: readonly ProviderOffer[],
): Promise<ModelChoice> {
  const own = providers.filter(({ own_server: isOwn }) => isOwn)
  const standard = own[0]?.name ?? usualName
  const typed = await askLine(context, `Name of the server [${standard}]: `)
  const name = typed === '' ? standard : typed
  const known = providers.find((offer) => offer.name === name)
  if (known?.own_server === false) {
    throw new CommandFailed('conflict', {
      detail: `${name} is the name of a known provider.`,
      repair: 'Give your server another name, such as gpu-box.',
    })
  }
  const { baseUrl } = await askServerAddress(context, known)
  const models = await modelsOf(context, client, { name, baseUrl })
  const [first] = models
  if (first !== undefined) context.terminal.note(`Models of ${name}: ${shownModels(models)}`)
  const typedModel = await askLine(
    context,
    `Model${first === undefined ? ' name on the server' : ` [${oneLine(first, nameColumnsMax)}]`}: `,
  )
  const model = typedModel === '' ? (first ?? '') : typedModel
  if (model === '') {
    throw new CommandFailed('no-model', {
      detail: 'Your own server has no default model.',
      repair: `Name one of its models; ${baseUrl.replace(/\/$/, '')}/models lists them.`,
    })
  }
  const costsNothing = await askIsFree(context, name, baseUrl)
  const wanted = { provider: name, model, baseUrl, anew: true, ...costsNothing }
  const choice = await keepProvider(context, client, wanted)
  await printUnpriced(context, client, `${name}/${model}`)
  return choice
}

/** Returns the models that a server lists without a key; none if it requires one or lists none. */
async function modelsOf(
  { signal }: CommandContext,
  client: Pick<MeshClient, 'call'>,
  { name, baseUrl }: { readonly name: string; readonly baseUrl: string },
): Promise<readonly string[]> {
  try {
    const { models } = await client.call('setupCheck', {
      body: { provider: name, base_url: baseUrl },
      signal,
    })
    return models
  } catch {
    signal.throwIfAborted()
    return []
  }
}

/** Enter keeps the address of a server that was added before. */
async function askServerAddress(
  context: CommandContext,
  known: ProviderOffer | undefined,
): Promise<{ readonly baseUrl: string }> {
  const now = known?.address?.url ?? null
  if (now !== null) context.terminal.note(`The current address of ${known?.name ?? ''} is ${now}.`)
  const example = now === null ? ', such as http://10.0.0.5:8000/v1' : ` [${now}]`
  const typed = await askLine(context, `Address${example}: `)
  return { baseUrl: typed === '' && now !== null ? now : requireWebAddress(typed) }
}

/** Asks whether calls are free, unless the address decides: a server on this machine costs nothing. */
async function askIsFree(
  context: CommandContext,
  name: string,
  baseUrl: string,
): Promise<{ readonly costsNothing?: boolean }> {
  if (/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(baseUrl).hostname)) return {}
  const typed = await askLine(context, `Are calls to ${name} free, as on a machine of yours? [y/N]: `)
  return { costsNothing: /^y/i.test(typed) }
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
