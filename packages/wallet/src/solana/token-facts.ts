import { address, getAddressEncoder, getProgramDerivedAddress } from '@solana/addresses'
import type { Address } from '@solana/addresses'
import { Problem } from '@flotilla/protocol/problem'
import { plainSymbol } from '../chain/json-rpc.ts'
import type { TokenFacts } from '../chain/paying-chain.ts'
import { associatedAccount } from './build-message.ts'
import { readAddress } from './solana-address.ts'
import { readAccounts } from './solana-calls.ts'
import type { Account } from './solana-calls.ts'
import type { SolanaRpc } from './solana-rpc.ts'
import { readMint, readTokenAccount, token2022Program, tokenProgram } from './token-layout.ts'
import type { Mint } from './token-layout.ts'

/** The metadata program that stores the names of tokens of the older token program. */
const metadataProgram = address('metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s')
const metadataExtension = 19
/** The maximum length of a token's symbol that is read, in bytes. */
const symbolMaxBytes = 32

/** Returns the mint's decimals and the symbol that its issuer wrote, or else the first letters of its address. */
export async function tokenFacts(rpc: SolanaRpc, mint: string): Promise<TokenFacts> {
  if (readAddress(mint) === null) throw noToken(mint)
  const { encode } = getAddressEncoder()
  const [named] = await getProgramDerivedAddress({
    programAddress: metadataProgram,
    seeds: ['metadata', encode(metadataProgram), encode(address(mint))],
  })
  const { accounts } = await readAccounts(rpc, [mint, named])
  const [account = null, metadata = null] = accounts
  const { mint: read } = mintOf(account, mint)
  const own = read.extensions.get(metadataExtension)
  const symbol =
    own === undefined
      ? metadata?.owner === metadataProgram
        ? secondText(metadata.data, 65)
        : null
      : secondText(own, 64)
  return { decimals: read.decimals, symbol: symbol === null || symbol === '' ? mint.slice(0, 6) : symbol }
}

/** Returns the balance of an owner's associated account, the only account that this wallet pays a token from. */
export async function tokenHeld(rpc: SolanaRpc, mint: string, owner: string): Promise<bigint> {
  if (readAddress(mint) === null) throw noToken(mint)
  const { accounts } = await readAccounts(rpc, [mint])
  const { program } = mintOf(accounts[0] ?? null, mint)
  const account = await associatedAccount(address(owner), program, address(mint))
  const [held = null] = (await readAccounts(rpc, [account])).accounts
  return held === null ? 0n : (readTokenAccount(held.data)?.raw ?? 0n)
}

/** Returns a mint and the program that manages it; Problem `bad-request` if the account is not a mint. Pure. */
export function mintOf(
  account: Account | null,
  named: string,
): { readonly mint: Mint; readonly program: Address } {
  const program = account?.owner
  const isKept = program === tokenProgram || program === token2022Program
  const mint = account === null || !isKept ? null : readMint(account.data)
  if (mint === null || program === undefined) throw noToken(named)
  return { mint, program: address(program) }
}

/** Returns the second of several texts with length prefixes; null if the data is too short. Pure. */
export function secondText(data: Buffer, at: number): string | null {
  if (at + 4 > data.length) return null
  const from = at + 4 + data.readUInt32LE(at)
  if (from + 4 > data.length) return null
  const bytes = data.readUInt32LE(from)
  if (from + 4 + bytes > data.length) return null
  return plainSymbol(
    data
      .subarray(from + 4, from + 4 + Math.min(bytes, symbolMaxBytes))
      // The older metadata format pads a text with zeros, which `plainSymbol` removes.
      .toString('utf8'),
  )
}

function noToken(mint: string): Problem {
  return new Problem('bad-request', { detail: `there is no token ${mint.slice(0, 60)}` })
}
