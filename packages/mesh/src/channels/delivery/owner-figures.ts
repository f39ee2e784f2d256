import type { ConversationPlace } from '../adapter.ts'

/** Problems whose details say how much money there is. */
const figureCodes: ReadonlySet<string> = new Set(['budget-exhausted'])

const withoutFigures = 'a budget is used up; its figures are told only in a direct conversation'

/** What may be told of a problem at that place: no figures of the owner where other people read along. Pure. */
export function tellableDetail(
  { code, detail }: { readonly code?: string | undefined; readonly detail: string },
  { isPrivate }: Pick<ConversationPlace, 'isPrivate'>,
): string {
  return isPrivate || code === undefined || !figureCodes.has(code) ? detail : withoutFigures
}
