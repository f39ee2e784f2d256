import { Suspense, useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useGoneSince } from '../data/use-mesh.ts'
import { Brand } from './brand.tsx'
import { GoneBanner } from './gone-banner.tsx'
import { entryOf } from './menu.ts'
import { Drawer, KeysDialog, Palette, loadPalette } from './pages.ts'
import { createShortcuts } from './shortcuts.ts'
import { BottomBar, Side, WaitingLink } from './side.tsx'

/** Delay in milliseconds after the page itself has loaded. */
const paletteAfterMs = 1500

/** The frame around every page. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const [path, go] = useLocation()
  const [keys, setKeys] = useState(false)
  const [palette, setPalette] = useState(false)
  const [drawer, setDrawer] = useState(false)
  const isGone = useGoneSince() !== null
  const main = useRef<HTMLElement>(null)
  const title = entryOf(path)?.title ?? 'Flotilla'

  // A layout effect runs before the effects of the page, which may name its subject instead.
  useLayoutEffect(() => {
    document.title = title === 'Flotilla' ? title : `${title} · Flotilla`
  }, [title, path])

  useEffect(() => {
    setDrawer(false)
    setPalette(false)
    setKeys(false)
  }, [path])

  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      setPalette(true)
    }
    const shortcut = createShortcuts()
    const follow = (event: KeyboardEvent) => {
      const found = shortcut({ key: event.key, at: event.timeStamp, isTaken: isTaken(event) })
      if (found === null) return
      event.preventDefault()
      if (found.kind === 'help') setKeys(true)
      else go(found.path)
    }
    window.addEventListener('keydown', open)
    window.addEventListener('keydown', follow)
    return () => {
      window.removeEventListener('keydown', open)
      window.removeEventListener('keydown', follow)
    }
  }, [go])

  // Loads the palette's code before it is opened, because keys typed while it loads would go to the page.
  useEffect(() => {
    const timer = setTimeout(loadPalette, paletteAfterMs)
    return () => clearTimeout(timer)
  }, [])

  return (
    <div className="shell">
      <a
        className="button skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault()
          main.current?.focus()
        }}
      >
        Skip to the page
      </a>
      <header className="top">
        <Brand />
        <WaitingLink />
      </header>
      <aside aria-label="Menu">
        <Side onPalette={() => setPalette(true)} />
      </aside>
      <div className={isGone ? 'content gone' : 'content'}>
        <GoneBanner />
        <main id="content" tabIndex={-1} ref={main}>
          {children}
        </main>
      </div>
      <BottomBar isOpen={drawer} onMenu={() => setDrawer(true)} />
      <Suspense fallback={null}>
        {drawer && <Drawer close={() => setDrawer(false)} />}
        {keys && <KeysDialog close={() => setKeys(false)} />}
        {palette && <Palette close={() => setPalette(false)} />}
      </Suspense>
    </div>
  )
}

/** True if a key belongs to a field, an open dialog or menu, or a shortcut of the browser. */
function isTaken(event: KeyboardEvent): boolean {
  const { target, ctrlKey, metaKey, altKey, isComposing, defaultPrevented } = event
  if (ctrlKey || metaKey || altKey || isComposing || defaultPrevented) return true
  if (document.querySelector('[role="dialog"], [role="menu"], [role="listbox"]')) return true
  return (
    target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
  )
}
