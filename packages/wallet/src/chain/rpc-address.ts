import { Problem } from '@flotilla/protocol/problem'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { Settings } from '@flotilla/foundation/config'
import type { Vault } from '@flotilla/egress/credentials'

/**
 * Returns the RPC address of a chain. Problem `not-configured` says which setting to write, and
 * never contains the stored value.
 */
export function rpcOf(
  name: ChainName,
  settings: Settings['wallet']['chains'][ChainName],
  vault: Pick<Vault, 'system'>,
): URL {
  const { rpc_url: url, rpc_credential: credential } = settings ?? {}
  if (url !== undefined) return new URL(url)
  const secret = credential === undefined ? undefined : vault.system(credential)
  const address = secret?.reveal() ?? ''
  if (URL.canParse(address) && /^https?:/.test(address)) return new URL(address)
  throw new Problem('not-configured', {
    detail:
      credential === undefined
        ? `no RPC endpoint is set up for ${name}: the owner writes {"wallet": {"chains": {"${name}": {"rpc_url": "https://..."}}}} into config/settings.json`
        : `the RPC endpoint of ${name} has no address: put FLOTILLA_SYSTEM_${credential.toUpperCase()}=https://... into .env in the home and restart the mesh`,
  })
}
