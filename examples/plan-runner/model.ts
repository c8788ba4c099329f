import type { Model } from './runner.ts';

export interface ModelServer {
  /** Of a Chat Completions endpoint, such as `http://127.0.0.1:11434/v1/chat/completions`. */
  readonly url: string;
  readonly name: string;
  readonly key: string | undefined;
}

const TIMEOUT_MS = 110_000;

/** A model behind any server that speaks Chat Completions: vLLM, Ollama, llama.cpp, LiteLLM, a provider. */
export function chatModel({ url, name, key }: ModelServer): Model {
  return async (prompt, refused) => {
    const messages = [
      { role: 'system', content: prompt.system },
      { role: 'user', content: prompt.user },
      ...(refused === null
        ? []
        : [
            { role: 'assistant', content: refused.code },
            { role: 'user', content: `${refused.why}\nWrite the whole function again.` },
          ]),
    ];
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({ model: name, messages }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!answer.ok) throw new Error(`the model server answers ${answer.status}`);
    const { choices } = (await answer.json()) as {
      readonly choices?: readonly { readonly message?: { readonly content?: string } }[];
    };
    return functionIn(choices?.[0]?.message?.content ?? '');
  };
}

/** The last fenced block that defines `compute`, else the whole reply: admission judges it either way. */
export function functionIn(reply: string): string {
  const blocks = [...reply.matchAll(/^```[^\n]*\n(.*?)^```/gms)].map(([, code]) => code ?? '');
  return blocks.findLast((code) => code.includes('def compute')) ?? reply;
}
