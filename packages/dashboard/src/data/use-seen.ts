import { useEffect, useRef, useState } from 'react'
import type { RefObject } from 'react'

/** True from when an element has first been in view, for data that only a reader of the element needs. */
export function useSeen<Shown extends Element>(): readonly [RefObject<Shown | null>, boolean] {
  const element = useRef<Shown>(null)
  const [seen, setSeen] = useState(false)
  useEffect(() => {
    if (seen || element.current === null) return
    const watched = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true)
    })
    watched.observe(element.current)
    return () => watched.disconnect()
  }, [seen])
  return [element, seen]
}
