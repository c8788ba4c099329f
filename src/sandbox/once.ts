/** Does `act` at the first call and nothing at those after it: for what is given back, which must not be twice. */
export function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (!done) {
      done = true;
      act();
    }
  };
}
