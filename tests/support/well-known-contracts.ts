import { faucet, sendFrom, word } from './wallet-fakes.ts'
import { startAnvil } from './anvil.ts'
import type { Anvil } from './anvil.ts'

/** Address of Permit2 on every chain. */
export const permit2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
export const multicall3 = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** The deployer that puts code at an address given by salt and code; development chains have it. */
const deployer = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
/** The salt with which Permit2 was deployed on each chain. */
const permit2Salt = word(0xd3af2663da51c10215000000n)
/** The constructor of Permit2, which writes the chain id and the signature domain into the code. */
const permit2Constructor = [
  '60c0346100bb574660a052602081017f8cad95687ba82c2ce50e74f7b754645e5117c3a5bec8151c0726d5857980a8668152',
  '7f9ac997416e8ff9d2ff6bebeb7149f65cdae5e32e2b90440b566bb3044041d36a6040830152466060830152306080830152',
  '6080825260a082019180831060018060401b038411176100a557826040525190206080526123c090816100c1823960805181',
  '611b47015260a05181611b210152f35b634e487b7160e01b600052604160045260246000fd5b600080fdfe',
].join('')

/**
 * The real contracts at the addresses that they have on every chain. Their code comes from anvil, which has it for
 * a family of chains with these predeployed contracts. That the code of Permit2 is exact is proved by the address
 * at which its deployer puts it.
 */
export async function putWellKnown(anvil: Anvil): Promise<void> {
  const carrier = await startAnvil(1, 'tempo')
  try {
    const codeOf = async (address: string): Promise<string> =>
      String(await carrier.rpc('eth_getCode', [address, 'latest']))
    const code = (await codeOf(permit2)).slice(2)
    await sendFrom(anvil, {
      from: faucet,
      to: deployer,
      data: `0x${permit2Salt}${permit2Constructor}${code}`,
    })
    await anvil.rpc('anvil_mine', [])
    if ((await anvil.rpc('eth_getCode', [permit2, 'latest'])) === '0x')
      throw new Error('what anvil carries is not Permit2')
    await anvil.rpc('anvil_setCode', [multicall3, await codeOf(multicall3)])
  } finally {
    await carrier.close()
  }
}
