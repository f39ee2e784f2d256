import type { PeopleEndpointName } from '@flotilla/client/people-api'
import { Problem } from '@flotilla/protocol/problem'
import type { ProofStore } from '../app/owner-proof.ts'
import { asSentence, formatCount } from './format.ts'
import { withProof } from './with-proof.ts'

export interface Failure<Item> {
  readonly item: Item
  readonly error: unknown
}

export interface EachEnd<Item> {
  /** The items for which the call succeeded. */
  readonly done: readonly Item[]
  readonly failures: readonly Failure<Item>[]
  /** The items that keep their state because the person did not give the owner's proof. */
  readonly unproved: readonly Item[]
}

/**
 * Makes a call for each item, one after the other, and asks for the owner's proof where the mesh requires it. An item
 * whose call fails does not keep the others back. If the person does not give the proof, no further call is made.
 */
export async function runEach<Item>(
  items: readonly Item[],
  {
    proofs,
    call,
    run,
  }: {
    readonly proofs: Pick<ProofStore, 'ask'>
    readonly call: PeopleEndpointName
    readonly run: (item: Item) => Promise<unknown>
  },
): Promise<EachEnd<Item>> {
  const done: Item[] = []
  const failures: Failure<Item>[] = []
  for (const [index, item] of items.entries()) {
    try {
      await withProof(proofs, call, () => run(item))
      done.push(item)
    } catch (error) {
      if (error instanceof Problem && error.code === 'proof-wanted')
        return { done, failures, unproved: items.slice(index) }
      failures.push({ item, error })
    }
  }
  return { done, failures, unproved: [] }
}

/** Says for how many items an action was done; null if for none. Pure. */
export function describeDone<Item>(
  { done }: EachEnd<Item>,
  { thing, past }: { readonly thing: string; readonly past: string },
): string | null {
  return done.length === 0 ? null : `${formatCount(done.length, thing)} ${past}.`
}

/** Failures that one message names; the others are counted. */
const namedMax = 3

/**
 * Says for how many items an action failed, with the first ones and their reasons, and how many were left as they
 * are; null if the action was done for all. Pure.
 */
export function describeFailures<Item extends { readonly title: string }>(
  { done, failures, unproved }: EachEnd<Item>,
  thing: string,
): string | null {
  const all = done.length + failures.length + unproved.length
  const named = failures
    .slice(0, namedMax)
    .map(({ item, error }) => `${item.title}: ${asSentence(reasonOf(error))}`)
  const more = failures.length - named.length
  const parts = [
    ...(failures.length === 0 ? [] : [`${failures.length} of ${formatCount(all, thing)} failed.`, ...named]),
    ...(more > 0 ? [`${more} more failed.`] : []),
    ...(unproved.length === 0
      ? []
      : [
          `${formatCount(unproved.length, thing)} not changed, because you did not confirm that you are the owner.`,
        ]),
  ]
  return parts.length === 0 ? null : parts.join(' ')
}

function reasonOf(error: unknown): string {
  if (error instanceof Problem) return error.detail
  return error instanceof Error ? error.message : 'it failed'
}
