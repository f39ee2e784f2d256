import { useCallback, useEffect, useRef, useState } from 'react'
import type { RefObject } from 'react'

/** A scroll position within this distance of the end counts as the end, in pixels. */
const nearEndPx = 80

/**
 * Keeps the newest message visible unless the reader has scrolled up. A message that the reader sends scrolls to the
 * end again; `hasNew` is true while unseen messages of others are below.
 */
export function useStayAtEnd(sent: string | undefined): {
  readonly box: RefObject<HTMLDivElement | null>
  readonly hasNew: boolean
  readonly toEnd: () => void
} {
  const box = useRef<HTMLDivElement>(null)
  const atEnd = useRef(true)
  const [hasNew, setHasNew] = useState(false)
  const toEnd = useCallback(() => {
    atEnd.current = true
    setHasNew(false)
    if (box.current) box.current.scrollTop = box.current.scrollHeight
  }, [])
  useEffect(() => {
    if (sent !== undefined) toEnd()
  }, [sent, toEnd])
  useEffect(() => {
    const element = box.current
    if (!element) return
    let before = element.scrollTop
    let height = element.scrollHeight
    // The scroll event may come after the content grew; only scrolling up stops following the end.
    const look = () => {
      const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < nearEndPx
      if (isNear || element.scrollTop < before) atEnd.current = isNear
      if (isNear) setHasNew(false)
      before = element.scrollTop
    }
    const follow = () => {
      if (atEnd.current) element.scrollTop = element.scrollHeight
      else if (element.scrollHeight > height) setHasNew(true)
      height = element.scrollHeight
    }
    const grown = new MutationObserver(follow)
    // A picture has no height until it is loaded; its `load` event does not bubble. To open a step adds no message.
    const loaded = () => {
      height = Math.max(height, element.scrollHeight)
      follow()
    }
    element.addEventListener('load', loaded, { capture: true })
    element.addEventListener('toggle', loaded, { capture: true })
    element.addEventListener('scroll', look, { passive: true })
    grown.observe(element, { childList: true, subtree: true, characterData: true })
    // When a second pane opens, this pane becomes narrower and its lines wrap, although its content does not change.
    const wrapped = new ResizeObserver(loaded)
    wrapped.observe(element)
    return () => {
      wrapped.disconnect()
      element.removeEventListener('scroll', look)
      element.removeEventListener('toggle', loaded, { capture: true })
      element.removeEventListener('load', loaded, { capture: true })
      grown.disconnect()
    }
  }, [])
  return { box, hasNew, toEnd }
}
