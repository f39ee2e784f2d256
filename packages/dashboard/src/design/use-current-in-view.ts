import { useEffect, useRef } from 'react'
import type { RefObject } from 'react'

/**
 * Keeps the current tab in the middle of a row of tabs that is wider than the screen, also after the device is
 * rotated.
 */
export function useCurrentInView<Row extends HTMLElement>(
  current: string,
  isThere = true,
): RefObject<Row | null> {
  const list = useRef<Row>(null)
  useEffect(() => {
    const row = list.current
    if (!row || !isThere) return undefined
    // Scrolls only the row of tabs and nothing else.
    const toCurrent = (): void => {
      const at = row.querySelector('[aria-current=page], [aria-selected=true]')?.getBoundingClientRect()
      const own = row.getBoundingClientRect()
      if (at) row.scrollLeft += at.left + at.width / 2 - own.left - own.width / 2
    }
    toCurrent()
    const watch = new ResizeObserver(toCurrent)
    watch.observe(row)
    return () => watch.disconnect()
  }, [current, isThere])
  return list
}
