import type { ConversationPlace } from '../adapter.ts'

/** Problems whose details contain amounts of money. */
const figureCodes: ReadonlySet<string> = new Set(['budget-exhausted'])

const withoutFigures = 'a budget is used up; its figures are shown only in a direct conversation'

/** Returns the detail of a problem for a conversation. In groups the owner's figures are left out. Pure. */
export function tellableDetail(
  { code, detail }: { readonly code?: string | undefined; readonly detail: string },
  { isPrivate }: Pick<ConversationPlace, 'isPrivate'>,
): string {
  return isPrivate || code === undefined || !figureCodes.has(code) ? detail : withoutFigures
}
