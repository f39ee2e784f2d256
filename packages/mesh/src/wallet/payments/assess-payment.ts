import { Problem } from '@flotilla/protocol/problem'
import { chains } from '@flotilla/protocol/wallet-api'
import type { ChainName } from '@flotilla/protocol/wallet-api'
import type { Settings } from '../../config/index.ts'
import { plainLine } from '../chain/json-rpc.ts'
import type { Effects, Grant, Order, PayingChain, Plan } from '../chain/paying-chain.ts'
import { microUsdOf } from '../prices/agree-on-price.ts'
import type { PriceOf } from '../prices/price-list.ts'
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
      (effects?.changes ?? sentBy(order))
        .filter(({ raw }) => raw < 0n)
        .map(({ asset, raw }) => worth(asset, -raw)),
    )
    const grants = await Promise.all(
      (effects?.grants ?? []).map(async (grant) => ({ grant, ...(await worth(grant.asset, grant.raw)) })),
    )
    const fee = await worth(null, plan.feeMaxRaw)
    const chargedMicroUsd = [...leaving, ...grants, fee].reduce((sum, { microUsd }) => sum + microUsd, 0)

    const direct = [
      ...(order.do === 'transfer' ? [order.to] : order.raw > 0n ? [order.contract] : []),
      ...(effects?.payees ?? []),
      ...(effects?.grants ?? []).map(({ spender }) => spender),
    ]
    // Tokens that everybody knows do with nothing what they please.
    const told = [...direct, ...Object.values(knownTokensOf(name))]
    const others = (plan.simulation.kind === 'moves' ? (plan.simulation.others ?? []) : []).filter(
      (address) => !told.some((one) => isSameAddress(one, address)),
    )
    const paid = [...direct, ...others].filter(
      (one, at, all) => all.findIndex((other) => isSameAddress(one, other)) === at,
    )
    if (paid.length > payeesMax) {
      throw new Problem('not-simulated', {
        detail: `it pays, empowers or names more than ${payeesMax} addresses`,
      })
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
        called: order.do === 'call' ? calledIn(plan, order) : '',
        isKnown: effects !== null,
        leaving: leaving.map(({ words }) => words),
        letting: grants.map(({ grant, words }) => lettingWords(grant, words)),
      }),
      lines: [
        `On ${name}, from ${from}.`,
        order.do === 'transfer'
          ? `To ${describeAddress(order.to, compared).words}.`
          : `Calls ${calledIn(plan, order)} of ${describeAddress(order.contract, compared).words} with ${shortArgs(order)}.`,
        ...(leaving.length === 0 ? [] : [`Leaves: ${leaving.map(({ words }) => words).join('; ')}.`]),
        ...(effects === null
          ? [
              `What else it moves is not known: ${plan.simulation.kind === 'unknown' ? plan.simulation.reason : ''}.`,
            ]
          : leaving.length === 0
            ? ['Nothing leaves by it but its fee.']
            : []),
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
          .map(({ address, words }) =>
            others.includes(address)
              ? `It also names ${words}, which may come by something through it.`
              : `It also pays or empowers ${words}.`,
          ),
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
  plan: Plan,
  { chain, order, allowed }: { chain: ChainName; order: Order; allowed: readonly string[] },
): Effects | null {
  const { simulation } = plan
  if (simulation.kind === 'moves') return simulation.effects
  if (simulation.kind === 'fails') throw new Problem('would-fail', { detail: simulation.reason })
  if (order.do === 'transfer' && order.asset === null) {
    // It moves its amount and nothing else of whoever signs.
    return { changes: sentBy(order), payees: [], grants: [] }
  }
  const name =
    order.do === 'call'
      ? `${chain}:${order.contract}:${calledIn(plan, order).replaceAll(' ', '')}`
      : `${chain}:${order.asset ?? ''}:transfer(address,uint256)`
  if (allowed.some((one) => isSameCall(one, name))) return null
  throw new Problem('not-simulated', { detail: `${name}: ${simulation.reason}` })
}

/** By its own words, where nobody can say what else it does. */
function sentBy({ raw, ...order }: Order) {
  return raw > 0n ? [{ asset: order.do === 'call' ? null : order.asset, raw: -raw }] : []
}

/** In the chain's own words; those of an agent could say anything to whoever reads them. */
function calledIn({ called }: Plan, order: Extract<Order, { do: 'call' }>): string {
  return called ?? plainLine(order.call.function)
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
  {
    called: what,
    isKnown,
    leaving,
    letting,
  }: {
    readonly called: string
    readonly isKnown: boolean
    readonly leaving: readonly string[]
    readonly letting: readonly string[]
  },
): string {
  const moved = leaving.join(' and ')
  const rest = isKnown ? '' : '; what else it does nobody can say'
  if (order.do === 'transfer') {
    const paid = `pay ${moved || 'nothing but its fee'} to ${order.to} on ${chain}`
    return `${[paid, ...letting].join(', and ')}${rest}`
  }
  const does = [...(moved === '' ? [] : [`moves ${moved}`]), ...letting]
  const nothing = isKnown ? ['moves nothing but its fee'] : []
  const which = (does.length === 0 ? nothing : does).join(', and ')
  const called = `call ${plainLine(what, 100)} of ${order.contract} on ${chain}`
  return `${called}${which === '' ? '' : `, which ${which}`}${rest}`
}
