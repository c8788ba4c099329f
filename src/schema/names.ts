/** Letters of any script (with the marks that belong to them), digits, space, `_`, `.`, `-`; 1 to 64 characters. */
const SHOWABLE = /^[\p{L}\p{M}\p{Nd} _.-]{1,64}$/u;

/**
 * Whether a field's name may stand in a prompt as it is. Field names are untrusted text: anything else, such as
 * quotes, line ends or markup, is shown as `<key n>`.
 */
export function isShowable(name: string): boolean {
  return SHOWABLE.test(name);
}
