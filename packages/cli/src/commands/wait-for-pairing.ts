import type { ChannelView } from '@flotilla/protocol/channels-api'
import type { ChannelName } from '@flotilla/protocol/people'
import { CommandFailed } from '../command-failed.ts'
import type { CommandContext } from '../context.ts'

const askEveryMs = 1000

/** Waits until an account has sent the pairing code, or it expires. Resolves to the name of the paired account. */
export async function waitForPairing(context: CommandContext, name: ChannelName): Promise<string> {
  const { terminal, clock, signal } = context
  const client = await context.mesh()
  let wrong = 0
  terminal.progress.step(`Waiting for the code on ${name}`)
  try {
    for (;;) {
      const { channels } = await client.call('channels', { signal })
      const channel = channels.find((one) => one.name === name)
      const pairing = channel?.pairing
      if (pairing?.state === 'paired') {
        terminal.progress.done()
        return pairing.detail
      }
      if (pairing?.state !== 'open') throw ended(name, pairing)
      if (pairing.wrong_tries > wrong) {
        wrong = pairing.wrong_tries
        terminal.note(`${wrong} wrong ${wrong === 1 ? 'code' : 'codes'} received on ${name}.`)
      }
      if (channel?.state === 'refused' || channel?.state === 'off') throw notOn(channel)
      await clock.sleep(askEveryMs, signal)
    }
  } catch (error) {
    terminal.progress.fail()
    throw error
  }
}

function ended(name: ChannelName, pairing: ChannelView['pairing'] | undefined): CommandFailed {
  return new CommandFailed('not-paired', {
    detail:
      pairing?.state === 'refused'
        ? `The account that sent the code on ${name} was rejected: ${pairing.detail}.`
        : `The code for ${name} expired before it was used.`,
    repair: `Request another code: flotilla channels pair ${name}`,
  })
}

function notOn({ name, detail, repair }: ChannelView): CommandFailed {
  return new CommandFailed('channel-not-connected', {
    detail: `${name} is not connected: ${detail}.`,
    repair: repair === '' ? `See flotilla channels` : repair,
  })
}
