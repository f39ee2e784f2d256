import { Problem } from '@flotilla/protocol/problem'
import { chains } from '@flotilla/protocol/wallet-api'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { Settings } from '../../config/index.ts'
import { plainLine } from '../chain/json-rpc.ts'
import type { Effects, Grant, Order, PayingChain, Plan } from '../chain/paying-chain.ts'
import { microUsdOf } from '../prices/agree-on-price.ts'
import type { PriceOf } from '../prices/price-book.ts'
import { knownTokensOf } from '../known-tokens.ts'
import { usdOfMicro, wholeUnits } from './amounts.ts'
import { describeAddress, isSameAddress } from './judge-payees.ts'
import { imitatedBy } from './judge-tokens.ts'

/** Others whom a call may pay or empower; more is not understood. */
const payeesMax = 20
/** Compared with addresses that look alike. */
const comparedMax = 1000

/** What a payment is, what it counts for, and why a person has to see it. */
export interface Assessed {
  readonly order: Order
  readonly plan: Plan
  /** Null where nobody can say, and the owner let that call be made all the same. */
  readonly effects: Effects | null
  readonly payees: readonly string[]
  /** All that could leave by it, its fee included, millionths of a US dollar. */
  readonly chargedMicroUsd: number
  /** One line. */
  readonly summary: string
  /** For a person, a sentence each. */
  readonly lines: readonly string[]
  readonly feeLine: string
  /** Why a person is asked first; empty where nobody is. */
  readonly reasons: readonly string[]
}

export type AssessPayment = (
  asked: { readonly chain: ChainName; readonly from: string; readonly order: Order },
  signal: AbortSignal,
) => Promise<Assessed>

/**
 * Asks the chain what an order would do and its worth. Problems `would-fail`, `not-simulated`, `no-price`, `bad-request`, and those of
 * the chain's port.
 */
export function createAssessPayment(deps: {
  readonly chain: (name: ChainName) => PayingChain
  readonly priceOf: PriceOf
  readonly payees: {
    isKnownPayee(chain: string, address: string): boolean
    knownPayees(chain: string, limit: number): readonly string[]
  }
  readonly settings: () => Settings['wallet']
}): AssessPayment {
  const { priceOf, payees } = deps

  return async ({ chain: name, from, order }, signal) => {
    const { coin, decimals: coinDecimals } = chains[name]
    const chain = deps.chain(name)
    const settings = deps.settings()

    /** By the address of a token, what it could be taken for. */
    const imitating = new Map<string, string>()

    async function factsOf(token: string) {
      const facts = await chain.token(token, signal)
      const [names, own] = [knownTokensOf(name), settings.known_addresses]
      const isGenuine = Object.values(names).some((one) => isSameAddress(one, token))
      const imitated = isGenuine
        ? null
        : imitatedBy({ address: token, symbol: facts.symbol }, { ...names, ...own })
      if (imitated !== null) {
        const known = imitated in own ? 'you know' : 'is known'
        imitating.set(token, `${facts.symbol} is not the ${imitated} that ${known}`)
      }
      return facts
    }

    /** What so much of an asset is called and counts for. */
    async function worth(asset: string | null, raw: bigint): Promise<{ words: string; microUsd: number }> {
      const facts = asset === null ? { decimals: coinDecimals, symbol: coin } : await factsOf(asset)
      const { decimals } = facts
      const attoUsd = await priceOf({ chain: name, token: asset }, signal)
      const microUsd = microUsdOf(raw, { decimals, attoUsd })
      // What a token calls itself is no proof of what it is.
      const called =
        asset === null ? facts.symbol : `of the token ${asset}, which calls itself ${facts.symbol}`
      return { words: `${wholeUnits(raw, decimals)} ${called} (${usdOfMicro(microUsd)} USD)`, microUsd }
    }

    const plan = await chain.plan(from, order, signal)
    const effects = understood(plan, { chain: name, order, allowed: settings.allow_unsimulated })
    const leaving = await Promise.all(
      (effects?.changes ?? coinSent(order))
        .filter(({ raw }) => raw < 0n)
        .map(({ asset, raw }) => worth(asset, -raw)),
    )
    const grants = await Promise.all(
      (effects?.grants ?? []).map(async (grant) => ({ grant, ...(await worth(grant.asset, grant.raw)) })),
    )
    const fee = await worth(null, plan.feeMaxRaw)
    const chargedMicroUsd = [...leaving, ...grants, fee].reduce((sum, { microUsd }) => sum + microUsd, 0)

    const paid = [
      ...(order.do === 'transfer' ? [order.to] : order.raw > 0n ? [order.contract] : []),
      ...(effects?.payees ?? []),
      ...(effects?.grants ?? []).map(({ spender }) => spender),
    ].filter((one, at, all) => all.findIndex((other) => isSameAddress(one, other)) === at)
    if (paid.length > payeesMax) {
      throw new Problem('not-simulated', { detail: `it pays or empowers more than ${payeesMax} addresses` })
    }
    const compared = { names: settings.known_addresses, paid: payees.knownPayees(name, comparedMax) }
    const described = paid.map((address) => ({ address, ...describeAddress(address, compared) }))
    const first = described.filter(({ address, isNamed }) => !isNamed && !payees.isKnownPayee(name, address))
    const limitUsd = settings.approve_above_usd
    const gained = (effects?.changes ?? []).filter(({ raw }) => raw > 0n)
    for (const { asset } of gained) {
      // Things that are counted one by one have no decimals to tell.
      if (asset !== null) await factsOf(asset).catch(() => signal.throwIfAborted())
    }
    const imitations = [...imitating].map(([token, words]) => `the token ${token} that calls itself ${words}`)
    return {
      order,
      plan,
      effects,
      payees: paid,
      chargedMicroUsd,
      summary: summaryOf(name, order, {
        leaving: leaving.map(({ words }) => words),
        letting: grants.map(({ grant, words }) => lettingWords(grant, words)),
      }),
      lines: [
        `On ${name}, from ${from}.`,
        order.do === 'transfer'
          ? `To ${describeAddress(order.to, compared).words}.`
          : `Calls ${plainLine(order.call.function)} of ${describeAddress(order.contract, compared).words} with ${shortArgs(order)}.`,
        effects === null
          ? `What it moves is not known: ${plan.simulation.kind === 'unknown' ? plan.simulation.reason : ''}`
          : leaving.length === 0
            ? 'Nothing leaves by it but its fee.'
            : `Leaves: ${leaving.map(({ words }) => words).join('; ')}.`,
        ...(gained.length === 0
          ? []
          : [
              `Comes in: ${gained.map(({ asset, raw }) => `${raw} base units of ${asset ?? coin}`).join('; ')}.`,
            ]),
        ...grants.map(({ grant, words }) =>
          grant.unlimited
            ? `${describeAddress(grant.spender, compared).words} may take ALL of the token ${grant.asset} from then on, now and later; there are ${words}.`
            : `${describeAddress(grant.spender, compared).words} may take ${words} from then on.`,
        ),
        ...described
          .filter(
            ({ address }) => !isSameAddress(address, order.do === 'transfer' ? order.to : order.contract),
          )
          .map(({ words }) => `It also pays or empowers ${words}.`),
        ...imitations.map((words) => `WARNING: ${words}.`),
        ...plan.warnings.map((warning) => `Mind that ${warning}.`),
        `It counts for ${usdOfMicro(chargedMicroUsd)} USD of the limits of the agent.`,
      ],
      feeLine: `Its fee is at most ${fee.words}.`,
      reasons: [
        ...(chargedMicroUsd > limitUsd * 1_000_000 ? [`it counts for more than ${limitUsd} USD`] : []),
        ...first.map(({ address }) => `${address} was never paid before`),
        ...(grants.some(({ grant }) => grant.unlimited) ? ['it lets somebody take all of a token'] : []),
        ...(effects === null ? ['what it moves is not known'] : []),
        ...imitations,
      ],
    }
  }
}

/** Null where it is not known and the owner let it be. */
function understood(
  { simulation }: Plan,
  { chain, order, allowed }: { chain: ChainName; order: Order; allowed: readonly string[] },
): Effects | null {
  if (simulation.kind === 'moves') return simulation.effects
  if (simulation.kind === 'fails') throw new Problem('would-fail', { detail: simulation.reason })
  if (order.do === 'transfer' && order.asset === null) {
    // It moves its amount and nothing else of whoever signs.
    return { changes: coinSent(order), payees: [], grants: [] }
  }
  const name =
    order.do === 'call'
      ? `${chain}:${order.contract}:${order.call.function.replaceAll(' ', '')}`
      : `${chain}:${order.asset ?? ''}:transfer(address,uint256)`
  if (allowed.some((one) => isSameCall(one, name))) return null
  throw new Problem('not-simulated', { detail: `${name}: ${simulation.reason}` })
}

function coinSent({ raw, ...order }: Order) {
  return raw > 0n && (order.do === 'call' || order.asset === null) ? [{ asset: null, raw: -raw }] : []
}

/** The case of an address is its checksum's, the one of a function its own. */
function isSameCall(one: string, other: string): boolean {
  const parts = (text: string): readonly string[] => /^([^:]*:[^:]*):(.*)$/.exec(text) ?? []
  const [[, where, what], [, otherWhere, otherWhat]] = [parts(one), parts(other)]
  return where !== undefined && where.toLowerCase() === otherWhere?.toLowerCase() && what === otherWhat
}

const argsMaxChars = 500

function shortArgs(order: Extract<Order, { do: 'call' }>): string {
  // An agent wrote it, for a person to read.
  const text = JSON.stringify(order.call.args)
  return `${plainLine(text, argsMaxChars)}${text.length > argsMaxChars ? '…' : ''}`
}

/** For whoever reads one line of it: what is not moved now may be taken later. */
function lettingWords({ spender, asset, unlimited }: Grant, words: string): string {
  return `lets ${spender} take ${unlimited ? `ALL of the token ${asset}` : words}`
}

function summaryOf(
  chain: ChainName,
  order: Order,
  { leaving, letting }: { readonly leaving: readonly string[]; readonly letting: readonly string[] },
): string {
  const moved = leaving.join(' and ')
  if (order.do === 'transfer') {
    return [`pay ${moved || 'nothing but its fee'} to ${order.to} on ${chain}`, ...letting].join(', and ')
  }
  const does = [...(moved === '' ? [] : [`moves ${moved}`]), ...letting]
  const called = `call ${plainLine(order.call.function, 100)} of ${order.contract} on ${chain}`
  return `${called}, which ${does.length === 0 ? 'moves nothing but its fee' : does.join(', and ')}`
}
