import type { MeshClient } from '@flotilla/client/mesh-client'
import { Problem } from '@flotilla/protocol/problem'
import type { CommandContext } from '../context.ts'
import { askHidden } from '../terminal/read-secret.ts'

const triesMax = 3

/** Asks at the terminal, three times at most; an empty line leaves the wallet locked. True once it is open. */
export async function unlockWallet(context: CommandContext, client: MeshClient): Promise<boolean> {
  const { terminal, signal } = context
  for (let tries = 0; tries < triesMax; tries++) {
    const passphrase = await askHidden(context, 'Passphrase of the wallet (empty to leave it locked): ')
    if (passphrase === '') return false
    try {
      await client.call('walletUnlock', { body: { passphrase }, signal })
      return true
    } catch (error) {
      if (!(error instanceof Problem && error.code === 'unprocessable')) throw error
      terminal.note(error.message)
    }
  }
  return false
}
