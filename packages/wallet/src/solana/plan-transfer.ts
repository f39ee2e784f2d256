import { address } from '@solana/addresses'
import type { Address } from '@solana/addresses'
import type { Instruction } from '@solana/instructions'
import { Problem } from '@flotilla/protocol/problem'
import { plainLine } from '../chain/json-rpc.ts'
import type { Order, Plan, Simulation } from '../chain/paying-chain.ts'
import { associatedAccount, buildMessage, hasKey } from './build-message.ts'
import { computeLimit, computePrice, createAccount, transferCoin, transferToken } from './instructions.ts'
import { judgeMint } from './judge-mint.ts'
import { unsignedWire, withBlockhash } from './message.ts'
import { recipientFault, tokenAccountFault } from './recipient.ts'
import { readAddress } from './solana-address.ts'
import { finalizedEpoch, latestBlockhash, readAccounts, recentPrices, simulate } from './solana-calls.ts'
import type { Account } from './solana-calls.ts'
import type { SolanaRpc } from './solana-rpc.ts'
import { mintOf } from './token-facts.ts'
import { readTokenAccount } from './token-layout.ts'

export type Transfer = Extract<Order, { readonly do: 'transfer' }>

/** The fee of one signature. */
const signatureFeeLamports = 5_000n
/** Maximum priority fee: 0.0001 SOL. */
const priorityFeeMaxLamports = 100_000n
/**
 * How many different compute limits and prices exist. Each transfer gets random ones, because equal
 * transfers with one blockhash would be the same transaction.
 */
const limitsOfEqual = 1024
const pricesOfEqual = 1024n
/** The compute units to request. A transfer of the coin uses 450; a token transfer with a new account some 50,000. */
const computeUnits = { coin: 1_000, token: 150_000 } as const
/** The maximum rent of the recipient's token account, which the recipient keeps: 0.00203928 SOL for a plain one. */
const rentMaxLamports = 10_000_000n
const rawMax = 2n ** 64n - 1n
/** The quantile of recent fees that is offered: 3 of 4 payments that wrote to these accounts offered no more. */
const priceQuantile = 0.75

/** A transfer as instructions, and its intended effects on the accounts that it writes to. */
interface Draft {
  readonly instructions: readonly Instruction[]
  readonly units: number
  /** The written accounts, with the sender first and the receiving account last. */
  readonly writes: readonly string[]
  readonly before: { readonly slot: bigint; readonly accounts: readonly (Account | null)[] }
  /** Computes what the sender's accounts lost, from the accounts after the transfer. */
  readonly lost: (after: readonly (Account | null)[]) => Lost
  /** The loss that the order intends, without the fee. */
  readonly meant: Omit<Lost, 'rent'>
  readonly asset: string | null
  /** Returns why the transfer must fail with this fee, by the current accounts; null if no reason is known. */
  readonly known: (fee: bigint) => string | null
  readonly warnings: readonly string[]
}

interface Lost {
  /** The lost lamports with the fee, without the rent of the recipient's new token account. */
  readonly lamports: bigint
  readonly tokenRaw: bigint
  readonly rent: bigint
}

/**
 * Plans one transfer with everything that is signed except the blockhash, and simulates it. The sender
 * pays the fee and, if the recipient has no account of the token yet, the rent of a new account.
 */
export async function planTransfer(
  rpc: SolanaRpc,
  { chain, from, order }: { readonly chain: string; readonly from: string; readonly order: Transfer },
  randomBytes: (count: number) => Buffer,
): Promise<Plan> {
  const sender = known(from, 'the sender')
  const to = known(order.to, order.to)
  if (to === sender) throw refused('sender and recipient are the same')
  if (order.raw <= 0n || order.raw > rawMax) throw refused(`an amount must be 1 to ${rawMax} base units`)
  if (!hasKey(to))
    throw refused(`${to} cannot be paid: the address belongs to a program and has no private key`)
  const draft =
    order.asset === null
      ? await draftCoin(rpc, { from: sender, to, raw: order.raw })
      : await draftToken(rpc, { from: sender, to, mint: known(order.asset, order.asset), raw: order.raw })
  const chance = randomBytes(4)
  const units = draft.units + (chance.readUInt16LE(0) % limitsOfEqual)
  const price = (await offeredPrice(rpc, draft)) + (BigInt(chance.readUInt16LE(2)) % pricesOfEqual)
  const { blockhash, lastValidBlockHeight } = await latestBlockhash(rpc)
  const message = buildMessage(sender, [computeLimit(units), computePrice(price), ...draft.instructions])
  const fee = signatureFeeLamports + (price * BigInt(units) + 999_999n) / 1_000_000n
  return {
    from: sender,
    to,
    unsigned: message.toString('base64'),
    does: `${chain} ${order.asset ?? ''} ${to} ${order.raw}`,
    feeMaxRaw: fee,
    place: { kind: 'expiring', blockhash, lastHeight: lastValidBlockHeight },
    simulation: await simulated(rpc, draft, { wire: unsignedWire(withBlockhash(message, blockhash)), fee }),
    warnings: draft.warnings,
  }
}

async function draftCoin(
  rpc: SolanaRpc,
  { from, to, raw }: { readonly from: Address; readonly to: Address; readonly raw: bigint },
): Promise<Draft> {
  const before = await readAccounts(rpc, [from, to])
  const [sender = null, recipient = null] = before.accounts
  const fault = recipientFault(recipient)
  if (fault !== null) throw refused(`${to} cannot be paid: ${fault}`)
  const has = lamportsOf(sender)
  return {
    instructions: [transferCoin(from, to, raw)],
    units: computeUnits.coin,
    writes: [from, to],
    before,
    lost: ([after]) => ({ lamports: has - lamportsOf(after), tokenRaw: 0n, rent: 0n }),
    meant: { lamports: raw, tokenRaw: 0n },
    asset: null,
    known: (fee) => lamportsFault(has, raw + fee),
    warnings: [],
  }
}

async function draftToken(
  rpc: SolanaRpc,
  { from, to, mint, raw }: { from: Address; to: Address; mint: Address; raw: bigint },
): Promise<Draft> {
  const { program, decimals, verdict } = await readToken(rpc, mint)
  if (verdict.refused !== null)
    throw refused(`payments with the token ${mint} are not supported: ${verdict.refused}`)
  const token = { program, mint, decimals }
  const [source, target] = await Promise.all([
    associatedAccount(from, program, mint),
    associatedAccount(to, program, mint),
  ])
  const before = await readAccounts(rpc, [from, source, target, to])
  const [sender = null, sourceAccount = null, targetAccount = null, recipient = null] = before.accounts
  const fault = recipientFault(recipient) ?? tokenAccountFault(targetAccount, { program, mint, owner: to })
  if (fault !== null) throw refused(`${to} cannot be paid: ${fault}`)
  const isNew = targetAccount === null || targetAccount.data.length === 0
  const fee = verdict.feeOf?.(raw) ?? null
  const held = sourceAccount === null ? null : readTokenAccount(sourceAccount.data)
  return {
    instructions: [
      ...(isNew ? [createAccount(token, { from, owner: to, account: target })] : []),
      transferToken(token, { source, target, owner: from }, { raw, fee }),
    ],
    units: computeUnits.token,
    writes: [from, source, target],
    before,
    lost: ([payer, paid, got]) => {
      const rent = lamportsOf(got) - lamportsOf(targetAccount)
      const lamports = lamportsOf(sender) - lamportsOf(payer) - rent
      return { lamports, tokenRaw: rawOf(sourceAccount) - rawOf(paid), rent }
    },
    meant: { lamports: 0n, tokenRaw: raw },
    asset: mint,
    known: (fee) => heldFault(held, raw) ?? lamportsFault(lamportsOf(sender), fee),
    warnings: [
      ...verdict.warnings,
      ...(fee === null || fee === 0n
        ? []
        : [`the issuer of the token keeps a fee of ${fee} of ${raw} base units`]),
    ],
  }
}

/** Returns a token's mint, its program, and whether this wallet pays with the token. */
async function readToken(rpc: SolanaRpc, mint: Address) {
  const { accounts } = await readAccounts(rpc, [mint])
  const { mint: read, program } = mintOf(accounts[0] ?? null, mint)
  const epoch = read.extensions.size === 0 ? 0n : (await finalizedEpoch(rpc)).epoch
  return { program, decimals: read.decimals, verdict: judgeMint(read, epoch) }
}

async function offeredPrice(rpc: SolanaRpc, { writes, units }: Draft): Promise<bigint> {
  const prices = (await recentPrices(rpc, writes)).toSorted((one, other) => (one < other ? -1 : 1))
  const usual = prices[Math.floor(prices.length * priceQuantile)] ?? 0n
  const most = (priorityFeeMaxLamports * 1_000_000n) / BigInt(units)
  return usual < most ? usual : most
}

async function simulated(
  rpc: SolanaRpc,
  draft: Draft,
  { wire, fee }: { readonly wire: string; readonly fee: bigint },
): Promise<Simulation> {
  const { failed, accounts } = await simulate(rpc, wire, {
    addresses: draft.writes,
    minSlot: draft.before.slot,
  })
  if (failed !== null) return { kind: 'fails', reason: draft.known(fee) ?? failureWords(failed) }
  if (accounts === null)
    return { kind: 'unknown', reason: 'the RPC endpoint did not report the accounts after the transaction' }
  const { lamports, tokenRaw, rent } = draft.lost(accounts)
  if (lamports - fee !== draft.meant.lamports || tokenRaw !== draft.meant.tokenRaw) {
    return { kind: 'unknown', reason: 'the sender’s accounts changed during the simulation' }
  }
  if (rent < 0n || rent > rentMaxLamports) {
    return { kind: 'unknown', reason: `the recipient’s new account would keep ${rent} lamports` }
  }
  const coin = draft.meant.lamports + rent
  const changes = [
    ...(coin === 0n ? [] : [{ asset: null, raw: -coin }]),
    ...(draft.asset === null ? [] : [{ asset: draft.asset, raw: -tokenRaw }]),
  ]
  return { kind: 'moves', effects: { changes, payees: [], grants: [] } }
}

function failureWords(failed: string): string {
  return failed.includes('InsufficientFundsForRent')
    ? 'an account would be left with less than the minimum balance of the chain'
    : plainLine(failed)
}

function lamportsFault(has: bigint, needed: bigint): string | null {
  return has < needed ? `the sender has ${has} lamports, and ${needed} are needed with the fee` : null
}

function heldFault(held: ReturnType<typeof readTokenAccount>, raw: bigint): string | null {
  if (held === null) return 'the sender has nothing of this token'
  if (held.frozen) return 'the sender’s account of this token is frozen'
  return held.raw < raw ? `the sender has only ${held.raw} base units of this token` : null
}

function lamportsOf(account: Account | null | undefined): bigint {
  return account?.lamports ?? 0n
}

function rawOf(account: Account | null | undefined): bigint {
  return account == null ? 0n : (readTokenAccount(account.data)?.raw ?? 0n)
}

function known(text: string, what: string): Address {
  if (readAddress(text) === null) throw refused(`${what.slice(0, 60)} is not an address of Solana`)
  return address(text)
}

function refused(detail: string): Problem {
  return new Problem('bad-request', { detail })
}
