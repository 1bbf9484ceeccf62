// Keys of RSA that are given to programs instead of new ones: to search for primes takes the interpreter many seconds, and a run must give
// the same keys every time. Everybody can read them here, so nothing real may be encrypted or signed with them. They were made with
// `openssl genrsa`, and their public exponent is 65537.

// The two primes of each key, in base64url, by the length of the key.
export const PRIMES = {
  2048: [
    [
      "6GOtMj_O9UT36JfQ6Z9LRhpSIysAwnO_Yy60j7bXAKMtvuIYetFKjYfnUQ8z-SuKXd2minkADG43opVvSL4HO0dTVo1xgNS4K2F7Wl_pzuXkwcyMZPif2Bly1sGw7wqE68ySQpZo3DPMyVhiq9fkaXPlkZQtGI8n5jDZMOiUBFs",
      "0mm3ud0veR3efdHAEQCymtb3kswDgjXKK9uJAKiTNm22r-Gt6OWDXFJxmdG5KOr9sLuVuc5g0CYWt7eDsGNVgPnSGah2ZcviPQD7v1_1d4bOK4rfYs77XnyGzXI4eM-WmlSodloDv6leRP2V7j7_eSsEPZg48FvNxWpo56rZRes",
    ],
    [
      "zJOr2UnYAMHYyZXHe4avao2TMgGhKUYSPc1_SJWheOmgUlNyullIuNHswZ4-CMytyuR_8NQflZOYLTYUrHygQReIH_shc-TI0jylfFo6MfK2i8pg5x4ldNgAkHy1F4yS-uFjbt9ko2qyR9ooWM7G_M8vw8gv5OWev7ZIgvq2zUk",
      "wywpibrebvfTzGxZsRTGH8rmZ7T9yZQBP_KXp9Bq4-Gu3AcAFkzDuBmPr-3ZNj6K0BI9siuiWioqC0G5_Aw_GugEV8x8zFdbbrRdQAhEwUFrBJzf_dOlShiFLPrNRJRIU6Ev7GhXe3UW_Asrj9Q2UzZBWdUWAY6z5ULG4INuIOs",
    ],
    [
      "x00aKzaONMoBewCCSBuGY2ccerXsFhWKnwCkKPbMXKeqKrELGJuPZqKj387jIB1_WDUkLobWs31DHbaYnJTkaWeNjqbZrZZFQbVF8W3l0XDasHhBadxfTGfEuAdGv5XdGWLpCvhO_ZhBLkzf3h79iQgE3WTI-vjKsotVqrtKLls",
      "xn0XPQpRENMQkdRs99SraagSs8lIsDq4CIIzbyb7YWXXKTOEznyYL_2s7fwzf0tfQFB_xGQzCQVBmg4KFyOkJ8pls4vtRSILMKfZTPLRmnqsOK3sijJ6QSf884m9kY30MjEJUQao_m57hBQkYPyDE_NnHSeyuftY1g53NdGUCaE",
    ],
    [
      "xv1FNUgJ9RVDesI8BpaAhLGcPvvwbvA54mkkdC8uwcPkfKyi7AnQ2F4xmGwlzlaiG2Mw4fdsoeq4jfVSIM2xUbe2gr_3VzpuA8955Nm7T4qs5RI4rxiEGh3WFI-TyrVyk8MotZVrSpIIKdwhAXMEOr3fDi8xWGJqyGz-78uIv3k",
      "vPudXm7bz3WX98A4rxGDD1To7G2Jtm4eNMansxktodZ3tsyesf7wBWOa-0HRCRc7VutWIaE2B8q7HM_EXnJy_OuJ_S5vkKeUJIt6d6JdkV2dezz-usWFA3YKWcRPTQauxpPCIg2fsZ6nAx6o9ZzVjmKjLbvfSKFg1Sax4LTQXu8",
    ],
  ],
  3072: [
    [
      "4kK_r94BSGEXmvSNb_LVyDAX5SC_dMxmBoLORdhlBLiglhJoWeDn7GTWf43cIqoTkrlDjO7YhO8iU9mFvf3UCUZsYwn9X964FqYzbL2P53exxnbCS505VGlnhytPlLbfhSqECwxTPTb4v_lJ7cv_UDNNRIi02BYD-D57W435HVvN5WaKVk9apbbwAb8lyIOPYpsNG9ExStsBlDIFKTWSjOP9w6FsFBoB-au4KtfqHyodexw1Nz4YNBU055zCYnJr",
      "tgc8q4Ex1WpFpD-m05Dsid2Csy-x-3LQUv4OHySs2jausPP0tfGlGjAVShzK6RNiX054Q1LlHooE3zmuWNuV09oB-cRF8j2ttE2Z5vgl-S4a6hn5ulCsjwTczOHbqFERTj2Z89O4jh6yrsaou5seEWPChG1JkT4XvcXut1gPS2o30NHkBB9ZfMhHOE2PKAPMjmQ08Xev8vnxx9teHAHdwDAjGLAS8os14hPMpFpV9Aqcqjfe5AwCukODTitcPRQf",
    ],
  ],
  4096: [
    [
      "-U3nT3AC_FU99soyJ9Xokr7jbWQEhkWuCMgw6tiOk2SB3fzXiH2gXyaZtSb5PXM1zBJYddTE3-LevrYLZ2NUOzkjEL7zlgoXOVZeqeiJF3E_LiZ7B7WWMMJhcwCnp_f-aeBByzSa0fu6zYGP50_BBYFwi85s8HxTisNtMb7kt43qw22mC-DyUYDVqqYEJo_np36gCN4zOtUm_6jdpAllhSeuBYyrfI_9Ib6qCKUJp0ln4vIE_wNaqgBH38_oI2sSQRYwJC-H-6R5XZuWwyextxLQE8kcV1U94ZnAHDR1JFXLnEiAoPnrQz_N1gNqqHpyy7UEGJHUfM1MUG0375Rgxw",
      "xR9lWsLUPSYaYZTnXyhyzpYyrvCkZL9olO-EnSVLsMisuvDKFjec_unlCu-gaAc9_5xPbI2NUsCpBKLuOzPPJLivoRU89PG7h9vPn4FX5Z3D5ROqRUFwS7WE2QkUTA_V4wnrMu46J8n_e7YkyxX_BOFd-dvn4PTX__NdrAodDc9dN8lwJxdx2DRSEkvqe__6xqgv9dUVMNjIZ3yT8Ajg2NPaURULYfexMlggeboMvXthkUyYybe0Fvd76-8f7FPMywp9Re7WCskf_LwGd4P88EAtCK4Ujc_0ZMtCJPUqKQSNI7li7Cp0qR6xx-79FIvl1PQzD2Mojtz1_BOYV3RJvw",
    ],
  ],
};
