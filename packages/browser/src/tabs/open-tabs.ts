import { browserLimits } from '@flotilla/protocol/browser-service-api'
import type { BrowserActionData } from '@flotilla/protocol/browser-service-api'
import type { BrowserContext, Dialog, Download, Page } from 'playwright-core'

type ToldDialog = BrowserActionData['navigate']['dialogs'][number]

/**
 * The tabs of one running browser, in the order in which they opened, with events that happened in them.
 *
 * 1. At most `browserLimits.tabsMax` are open; another one is closed, with a notice.
 * 2. A dialog is answered at once and reported with the next result, because it blocks its page.
 * 3. A download that no action waits for is cancelled, with a notice.
 */
export interface OpenTabs {
  /** The front tab. Opens one if no tab is open. */
  active(): Promise<Page>
  readonly pages: readonly Page[]
  /** The index of the front tab; 0 if no tab is open. */
  index(): number
  open(): Promise<Page>
  bringToFront(page: Page): Promise<void>
  /** Closes a tab. Opens a new one first if it is the last, because Chromium exits without a tab. */
  close(page: Page): Promise<void>
  /** Moves these tabs to the beginning, in this order. */
  arrange(order: readonly Page[]): void
  /** Returns dialogs and notices since the last call. */
  happened(): { dialogs: ToldDialog[]; notices: string[] }
  /** Sends downloads to `listener`, because an action waits for one. The returned function removes the listener. */
  takeDownloads(listener: (download: Download) => void): () => void
  notice(text: string): void
}

export function watchTabs(
  context: BrowserContext,
  { onNavigated, scrub }: { onNavigated: (page: Page) => void; scrub: (text: string) => string },
): OpenTabs {
  const pages: Page[] = []
  let front: Page | null = null
  let dialogs: ToldDialog[] = []
  let notices: string[] = []
  let opening = 0
  let onDownload: ((download: Download) => void) | null = null

  const notice = (text: string): void => {
    if (notices.length < browserLimits.noticesMax) notices.push(text)
  }

  async function answer(dialog: Dialog): Promise<void> {
    const kind = kindOf(dialog)
    if (dialogs.length < browserLimits.dialogsMax)
      dialogs.push({ kind, message: scrub(dialog.message()).slice(0, 500) })
    // Leaves a page that asks for confirmation before leaving, because an agent could not get away otherwise.
    await (kind === 'beforeunload' ? dialog.accept() : dialog.dismiss()).catch(() => undefined)
  }

  function forget(page: Page): void {
    const at = pages.indexOf(page)
    if (at < 0) return
    pages.splice(at, 1)
    if (front === page) front = pages[Math.min(at, pages.length - 1)] ?? null
  }

  function adopt(page: Page): void {
    if (pages.includes(page)) return
    if (pages.length >= browserLimits.tabsMax) {
      notice(
        `A page opened another tab, which was closed: ${browserLimits.tabsMax} are open. Close one first.`,
      )
      void page.close().catch(() => undefined)
      return
    }
    pages.push(page)
    front = page
    if (opening === 0) notice(`A pop-up opened as tab ${pages.length - 1}, which is in front now.`)
    page.on('close', () => forget(page))
    page.on('dialog', (dialog) => void answer(dialog))
    page.on('crash', () => {
      notice('A tab crashed and was closed.')
      void close(page).catch(() => undefined)
    })
    page.on('framenavigated', (frame) => {
      if (frame === page.mainFrame()) onNavigated(page)
    })
    page.on('download', (download) => {
      if (onDownload) return onDownload(download)
      notice(
        'A page started a download, which was stopped: use the action download with the reference of the element that starts it.',
      )
      void download.cancel().catch(() => undefined)
    })
  }

  const open = async (): Promise<Page> => {
    opening += 1
    try {
      const page = await context.newPage()
      adopt(page)
      front = page
      return page
    } finally {
      opening -= 1
    }
  }

  const close = async (page: Page): Promise<void> => {
    if (pages.length === 1 && pages.includes(page)) await open()
    await page.close()
  }

  opening += 1
  for (const page of context.pages()) adopt(page)
  opening -= 1
  context.on('page', adopt)

  return {
    pages,
    active: async () => front ?? open(),
    index: () => Math.max(0, front === null ? 0 : pages.indexOf(front)),
    open,
    close,
    async bringToFront(page) {
      front = page
      await page.bringToFront()
    },
    arrange(order) {
      const others = pages.filter((page) => !order.includes(page))
      pages.splice(0, pages.length, ...order.filter((page) => pages.includes(page)), ...others)
    },
    happened() {
      const report = { dialogs, notices }
      dialogs = []
      notices = []
      return report
    },
    takeDownloads(listener) {
      onDownload = listener
      return () => {
        onDownload = null
      }
    },
    notice,
  }
}

function kindOf(dialog: Dialog): ToldDialog['kind'] {
  const kind = dialog.type()
  return kind === 'confirm' || kind === 'prompt' || kind === 'beforeunload' ? kind : 'alert'
}
